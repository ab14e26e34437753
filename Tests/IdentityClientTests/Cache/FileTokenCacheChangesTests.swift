// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

@Suite struct FileTokenCacheChangesTests {
    let directory: TemporaryDirectory
    let path: String
    let group: CacheGroup
    let one = CacheRecord(bytes: [1])
    let two = CacheRecord(bytes: [2])

    init() throws {
        directory = try TemporaryDirectory()
        path = "\(directory.path)/a/b/cache"
        group = try CacheGroup("suite")
    }

    private func key(_ name: String, _ kind: CacheKey.Kind = .account) -> CacheKey {
        CacheKey(group: group, kind: kind, name: name)
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhatAnotherObjectStoresOnceThereIsADirectory() async throws {
        let cache = FileTokenCache(directory: path)
        #expect(cache.changes(in: group) == nil)
        #expect(try directory.names(in: "").isEmpty, "listening makes no directory")
        let other = FileTokenCache(directory: path)
        #expect(try await other.replace(nil, with: one, for: key("a")))
        let hints = try #require(cache.changes(in: group))
        #expect(try await other.replace(nil, with: one, for: key("b", .lease)))
        #expect(await next(hints, is: key("b", .lease)))
        #expect(try await other.replace(one, with: two, for: key("a")))
        #expect(await next(hints, is: key("a")))
        #expect(try await other.replace(two, with: nil, for: key("a")))
        #expect(await next(hints, is: key("a")))
        #expect(try await other.replace(nil, with: one, for: key("c")))
        #expect(await next(hints, is: key("c")))
        _ = try await other.setAside(key("c"), record: one)
        #expect(await next(hints, is: key("c")))
    }

    @Test(.timeLimit(.minutes(1))) func tellsEveryListenerOfItsGroupAndNoOther() async throws {
        let cache = FileTokenCache(directory: path)
        try await cache.checkWritable(in: group)
        var first = try #require(cache.changes(in: group)).makeAsyncIterator()
        var second = try #require(cache.changes(in: group)).makeAsyncIterator()
        #expect(cache.hints.watchCount == 1)
        let elsewhere = CacheKey(group: try CacheGroup("elsewhere"), kind: .account, name: "x")
        #expect(try await cache.replace(nil, with: one, for: elsewhere))
        #expect(try await cache.replace(nil, with: one, for: key("a")))
        #expect(await first.next() == key("a"))
        #expect(await second.next() == key("a"))
    }

    @Test(.timeLimit(.minutes(1))) func tellsWithin100MillisecondsWhatAnotherProcessRenamesIntoPlace() async throws {
        let cache = FileTokenCache(directory: path)
        #expect(try await cache.replace(nil, with: one, for: key("a")))
        let hints = try #require(cache.changes(in: group))
        var best = Duration.seconds(60)
        for _ in 0..<5 {
            let script = "cd '\(path)/suite' && umask 077 && printf x > .other && mv .other account-a.json"
            #expect(unsafe system(script) == 0)
            let end = ContinuousClock.now
            #expect(await next(hints, is: key("a")))
            best = min(best, end.duration(to: .now))
        }
        #expect(best < .milliseconds(100))
        #expect(try await cache.record(for: key("a"))?.bytes == Array("x".utf8))
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["a/b/cache/suite", "a/b/cache", "a"])
    func endsWithItsDirectoryAndBeginsAnewWithTheNext(_ removed: String) async throws {
        let cache = FileTokenCache(directory: path)
        #expect(try await cache.replace(nil, with: one, for: key("a")))
        let hints = try #require(cache.changes(in: group))
        try FileManager.default.removeItem(atPath: "\(directory.path)/\(removed)")
        #expect(await all(hints) == [key("a")])
        #expect(cache.changes(in: group) == nil)
        #expect(try await FileTokenCache(directory: path).replace(nil, with: one, for: key("b")))
        let later = try #require(cache.changes(in: group))
        #expect(try await FileTokenCache(directory: path).replace(one, with: two, for: key("b")))
        #expect(await next(later, is: key("b")))
    }

    @Test(.timeLimit(.minutes(1))) func endsWhenItsDirectoryIsMovedAway() async throws {
        let cache = FileTokenCache(directory: path)
        #expect(try await cache.replace(nil, with: one, for: key("a")))
        let hints = try #require(cache.changes(in: group))
        #expect(unsafe rename("\(path)/suite", "\(directory.path)/away") == 0)
        #expect(await all(hints).isEmpty)
    }

    @Test func watchesNothingThroughALink() async throws {
        let real = "\(directory.path)/real"
        #expect(try await FileTokenCache(directory: real).replace(nil, with: one, for: key("a")))
        let linked = "\(directory.path)/linked"
        #expect(unsafe symlink(real, linked) == 0)
        #expect(FileTokenCache(directory: linked).changes(in: group) == nil)
        #expect(FileTokenCache(directory: real).changes(in: group) != nil)
    }

    @Test(.timeLimit(.minutes(1))) func endsWithTheCache() async throws {
        var cache: FileTokenCache? = FileTokenCache(directory: path)
        try await cache?.checkWritable(in: group)
        var hints = try #require(cache?.changes(in: group)).makeAsyncIterator()
        cache = nil
        #expect(await hints.next() == nil)
    }

    @Test(.timeLimit(.minutes(1))) func leavesNothingOpenAfterAThousandListeners() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let group = try CacheGroup("suite")
            let cache = FileTokenCache(directory: "\(directory.path)/cache")
            try await cache.checkWritable(in: group)
            _ = cache.changes(in: group)
            func open() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
            let before = try open()
            for round in 0..<1000 {
                let hints = try #require(cache.changes(in: group))
                let reader = Task { for await _ in hints {} }
                if round % 2 == 0 { await Task.yield() }
                reader.cancel()
                await reader.value
                #expect(cache.hints.watchCount == 0)
            }
            // The runtime uses a few for timers and queues.
            #expect(try await eventually { try open() < before + 10 })
        }
    }

    @Test(.timeLimit(.minutes(1))) func givesNoHintsWhereTheSystemHasNoneToGive() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let cache = FileTokenCache(directory: directory.path)
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
            try await cache.checkWritable(in: key.group)
            var limit = rlimit()
            _ = unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
            var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
            _ = unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &none)
            #expect(cache.changes(in: key.group) == nil)
            _ = unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
            #expect(cache.changes(in: key.group) != nil)
        }
    }

    @Test func knowsARecordsFileFromOthers() {
        #expect(FileCacheName.key("account-a1.json", group: group) == key("a1"))
        #expect(FileCacheName.key("lease-a-1.json", group: group) == key("a-1", .lease))
        for name in ["", "-", "-a.json", ".lock-1", ".new-1-a", "account-a1.json.corrupt-1", "account-.json", "a.json"]
        {
            #expect(FileCacheName.key(name, group: group) == nil, "\(name)")
        }
    }

    /// The keys of all hints until the stream ends.
    private func all(_ hints: AsyncStream<CacheKey>) async -> Set<CacheKey> {
        await hints.reduce(into: []) { $0.insert($1) }
    }

    /// Whether `key` is among the next hints. A change may be reported twice.
    private func next(_ hints: AsyncStream<CacheKey>, is key: CacheKey) async -> Bool {
        for await hint in hints where hint == key { return true }
        return false
    }
}
