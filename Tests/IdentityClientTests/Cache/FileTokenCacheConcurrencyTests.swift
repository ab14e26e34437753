// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

@Suite(.serialized) struct FileTokenCacheConcurrencyTests {
    let directory: TemporaryDirectory
    let path: String
    let key: CacheKey
    let one = CacheRecord(bytes: [1])
    let two = CacheRecord(bytes: [2])

    init() throws {
        directory = try TemporaryDirectory()
        path = "\(directory.path)/cache"
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
    }

    var lock: String { "\(path)/suite/.lock-\(FileCacheName.stripe("account-a.json"))" }

    @Test(.timeLimit(.minutes(1))) func losesNothingAmong32TasksOnTwoCaches() async throws {
        let caches = [FileTokenCache(directory: path), FileTokenCache(directory: path)]
        let counter = CacheKey(group: key.group, kind: .application, name: "counter")
        #expect(try await caches[0].replace(nil, with: CacheRecord(bytes: Array("0".utf8)), for: counter))
        let outcomes = try await withThrowingTaskGroup { group in
            for number in 0..<32 {
                group.addTask { try await mixedOperations(caches[number % 2], number: number, counter: counter) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let fresh = FileTokenCache(directory: path)
        let expected = outcomes.reduce(into: [:]) { $0.merge($1.records) { $1 } }
        #expect(try await fresh.records(of: .account, in: key.group) == expected)
        let count = outcomes.reduce(0) { $0 + $1.increments }
        #expect(try await fresh.record(for: counter)?.bytes == Array("\(count)".utf8))
        #expect(try directory.names(in: "cache/suite").allSatisfy { !$0.hasPrefix(".new-") })
    }

    /// Runs 200 operations on its own records, each with a known outcome, and on a counter that all tasks share.
    private func mixedOperations(
        _ cache: FileTokenCache,
        number: Int,
        counter: CacheKey
    ) async throws -> (records: [CacheKey: CacheRecord], increments: Int) {
        var records: [CacheKey: CacheRecord] = [:]
        var increments = 0
        var random = SystemRandomNumberGenerator()
        for step in 0..<200 {
            let key = CacheKey(group: key.group, kind: .account, name: "\(number)-\(step % 3)")
            switch UInt8.random(in: 0..<10, using: &random) {
            case 0..<4: #expect(try await cache.record(for: key) == records[key])
            case 4..<7:
                let new = CacheRecord(
                    bytes: (0..<Int.random(in: 0..<3000)).map { UInt8(truncatingIfNeeded: $0 + step) }
                )
                #expect(try await cache.replace(records[key], with: new, for: key))
                records[key] = new
            case 7:
                #expect(try await cache.replace(records[key], with: nil, for: key))
                records[key] = nil
            case 8:
                let listed = try await cache.records(of: .account, in: key.group)
                #expect(listed.filter { $0.key.name.hasPrefix("\(number)-") } == records)
            default:
                let old = try #require(try await cache.record(for: counter))
                let value = try #require(Int(String(decoding: old.bytes, as: UTF8.self)))
                let new = CacheRecord(bytes: Array("\(value + 1)".utf8))
                if try await cache.replace(old, with: new, for: counter) { increments += 1 }
            }
        }
        return (records, increments)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhichLockIsHeld() async throws {
        let cache = FileTokenCache(directory: path, lockTimeout: .milliseconds(50))
        #expect(try await cache.replace(nil, with: one, for: key))
        let holder = try holdLock()
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(one, with: two, for: key)
        }
        #expect(error?.code == .cacheBusy)
        #expect(error?.message.contains(lock) == true)
        #expect(error?.message.contains("Process \(getpid()) ") == true)
        #expect(try await cache.record(for: key) == one, "readers need no lock")
        holder.unlock()
        #expect(try await cache.replace(one, with: two, for: key))
    }

    @Test func findsTheHolderInTheKernelsTable() {
        let table = """
            1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
            2: FLOCK  ADVISORY  WRITE 12 fe:00:177 0 EOF
            2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
            3: FLOCK  ADVISORY  WRITE 0 fe:00:78 0 EOF
            4: FLOCK  ADVISORY  WRITE 14 fe:00:77 0 EOF
            """
        #expect(LockTable.holder(ofInode: 77, in: table) == 14)
        #expect(LockTable.holder(ofInode: 78, in: table) == nil, "in another namespace")
        #expect(LockTable.holder(ofInode: 7, in: table) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func stopsWaitingWhenItsTaskIsCancelled() async throws {
        let cache = FileTokenCache(directory: path, lockTimeout: .seconds(3600))
        #expect(try await cache.replace(nil, with: one, for: key))
        let holder = try holdLock()
        let writer = Task { try await cache.replace(one, with: two, for: key) }
        let other = CacheKey(group: key.group, kind: .account, name: "b")
        #expect(FileCacheName.stripe("account-b.json") != FileCacheName.stripe("account-a.json"))
        #expect(try await cache.replace(nil, with: one, for: other), "another stripe is free")
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        holder.unlock()
        #expect(try await cache.record(for: key) == one)
    }

    @Test(.timeLimit(.minutes(1)), .enabled(if: unsafe access("/usr/bin/flock", X_OK) == 0, "needs flock(1)"))
    func goesOnWithin50MillisecondsOfTheHoldersDeath() async throws {
        let cache = FileTokenCache(directory: path, lockTimeout: .seconds(30))
        #expect(try await cache.replace(nil, with: one, for: key))
        var shortest = Duration.seconds(3600)
        for round in 0..<5 where shortest >= .milliseconds(50) {
            let holder = try spawn(["/usr/bin/flock", "--no-fork", lock, "/bin/sleep", "60"])
            #expect(try await eventually { try lockIsHeld() })
            let (old, new) = round % 2 == 0 ? (one, two) : (two, one)
            let writer = Task { try await cache.replace(old, with: new, for: key) }
            let death = ContinuousClock.now
            try CallFailed.check(kill(holder, SIGKILL), "kill")
            #expect(try await writer.value)
            shortest = min(shortest, death.duration(to: .now))
            waitpid(holder, nil, 0)
        }
        #expect(shortest < .milliseconds(50))
    }

    @Test(.timeLimit(.minutes(1))) func findsTheNewLockWhenSomeoneRemovedTheOld() async throws {
        let cache = FileTokenCache(directory: path)
        #expect(try await cache.replace(nil, with: one, for: key))
        let holder = try holdLock()
        let writer = Task { try await cache.replace(one, with: two, for: key) }
        try CallFailed.check(unsafe unlink(lock), "unlink")
        #expect(try await writer.value)
        holder.unlock()
    }

    private func holdLock() throws -> Descriptor {
        let group = try #require(try SecureDirectory.open(path, key.group.name)?.path)
        #expect(group == "\(path)/suite")
        guard let directory = try SecureDirectory.open(path, key.group.name) else { throw CallFailed(call: "open") }
        let file = try directory.lockFile(String(lock.dropFirst(group.utf8.count + 1)))
        #expect(try file.tryLock())
        return file
    }

    private func lockIsHeld() throws -> Bool {
        guard let directory = try SecureDirectory.open(path, key.group.name) else { return false }
        return try FileLock.take(FileCacheName.stripe("account-a.json"), in: directory) == nil
    }

    private func spawn(_ arguments: [String]) throws -> pid_t {
        var pid: pid_t = 0
        var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        let result = unsafe posix_spawn(&pid, arguments[0], nil, nil, &words, environ)
        if result != 0 { throw CallFailed(call: "posix_spawn") }
        return pid
    }
}
