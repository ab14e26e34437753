// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityKeyring

@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringItemsTests {
    @Test(.timeLimit(.minutes(1))) func isReadByOtherProgramsAndSaysNothingInClear() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey(group: "person.example"))
        #expect(try await cache.replace(nil, with: CacheRecord("the record"), for: key))
        let found = try session.run("secret-tool search --all name \(key.name)")
        #expect(found.contains("label = Test (sign-in)"))
        #expect(found.contains("the record"))
        #expect(!found.contains("person.example"))
        #expect(try session.run("secret-tool lookup name \(key.name)").hasSuffix("\nthe record"))
        let python = """
            /usr/bin/python3 -c 'import secretstorage
            c = secretstorage.dbus_init()
            for i in secretstorage.search_items(c, {"name": "\(key.name)"}):
                print(i.get_label(), i.get_secret().decode().splitlines()[-1], sorted(i.get_attributes()))'
            """
        let seen = try session.run(python)
        #expect(seen.contains("Test (sign-in) the record ['group', 'kind', 'name', 'version', 'xdg:schema']"))
    }

    @Test(.timeLimit(.minutes(1))) func readsWhatOtherProgramsHaveWritten() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, keys) = (try session.cache(), [try randomKey(), try randomKey()])
        func secret(_ key: CacheKey) -> String { "swift-identity-client 1 account \(key.name)\nby another" }
        let attributes = KeyringAttributes.record(keys[0]).map { "\($0.0) \($0.1)" }.joined(separator: " ")
        try session.run("printf '\(secret(keys[0]))' | secret-tool store --label=other \(attributes)")
        let dictionary = KeyringAttributes.record(keys[1]).map { "\"\($0.0)\": \"\($0.1)\"" }.joined(separator: ", ")
        try session.run(
            """
            /usr/bin/python3 -c 'import secretstorage
            c = secretstorage.get_default_collection(secretstorage.dbus_init())
            c.create_item("other", {\(dictionary)}, b"\(secret(keys[1]).replacing("\n", with: "\\n"))")'
            """
        )
        for key in keys { #expect(try await cache.record(for: key) == CacheRecord("by another")) }
        #expect(try await cache.records(of: .account, in: keys[0].group).count == 2)
        #expect(try await cache.replace(CacheRecord("by another"), with: CacheRecord("ours"), for: keys[1]))
        #expect(try session.run("secret-tool lookup name \(keys[1].name)").hasSuffix("\nours"))
    }

    @Test(.timeLimit(.minutes(1))) func seesWhatOthersChangeAndDelete() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, other, key) = (try session.cache(), try session.cache(), try randomKey())
        let hints = try #require(cache.changes(in: key.group))
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        #expect(try await other.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("two"))
        let seen = Task { await hints.first { $0 == key } != nil }
        let start = ContinuousClock.now
        try session.run("secret-tool clear name \(key.name)")
        #expect(try await eventually { try await cache.record(for: key) == nil })
        // The tool's own start is in this time.
        #expect(start.duration(to: .now) < .seconds(3))
        #expect(await seen.value)
    }

    @Test(.timeLimit(.minutes(1))) func answersAHitFromMemory() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("x"))
        try session.signal(SIGSTOP, "KEYRING_PID")
        try session.signal(SIGSTOP, "BUS_PID")
        // What is not in memory would not be answered.
        for _ in 0..<1000 { #expect(try await cache.record(for: key) == CacheRecord("x")) }
        try session.signal(SIGCONT, "BUS_PID")
        try session.signal(SIGCONT, "KEYRING_PID")
    }

    @Test(.timeLimit(.minutes(1))) func answersFromAListingInMemory() async throws {
        let session = try KeyringSession(.unlocked)
        let (writer, cache, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await cache.records(of: .account, in: key.group) == [key: CacheRecord("one")])
        try session.signal(SIGSTOP, "KEYRING_PID")
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        try session.signal(SIGCONT, "KEYRING_PID")
        #expect(try await writer.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("two"))
    }

    @Test(.timeLimit(.minutes(1))) func escapesEveryKindInASearch() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        for kind in ["it's", "'}, 'x': '", "back\\slash", "Schlüssel", ""] {
            #expect(try await cache.records(of: CacheKey.Kind(rawValue: kind), in: key.group).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfLeasesWithoutAKeyring() async throws {
        let session = try KeyringSession(.noService)
        let (cache, key) = (try session.cache(), try randomKey(.lease))
        var hints = try #require(cache.changes(in: key.group)).makeAsyncIterator()
        #expect(try await session.cache().replace(nil, with: CacheRecord("mine"), for: key))
        #expect(await hints.next() == key)
    }

    /// A watcher lists the group first.
    @Test(.timeLimit(.minutes(1))) func hearsOfTheRemovalOfAListedItem() async throws {
        let session = try KeyringSession(.unlocked)
        let (writer, cache, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        var hints = try #require(cache.changes(in: key.group)).makeAsyncIterator()
        #expect(try await cache.records(of: .account, in: key.group).count == 1)
        try session.run("secret-tool clear name \(key.name)")
        #expect(await hints.next() == key)
    }

    @Test(.timeLimit(.minutes(1))) func takesAnEmptySecretForAbsentAndSetsAnUnreadableOneAside() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        let attributes = KeyringAttributes.record(key).map { "\($0.0) \($0.1)" }.joined(separator: " ")
        try session.run("printf '' | secret-tool store --label=empty \(attributes)")
        #expect(try await cache.record(for: key) == nil)
        try session.run("printf 'not a record' | secret-tool store --label=strange \(attributes)")
        #expect(try await eventually { await failure { try await cache.record(for: key) }.code == .cacheCorrupt })
        #expect(try await cache.record(for: key) == nil)
        #expect(try session.run("secret-tool search --all kind account_corrupt").contains("not a record"))
        #expect(try await cache.replace(nil, with: CacheRecord("new"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("new"))
    }

    @Test(.timeLimit(.minutes(1))) func refusesARecordThatIsTooLargeBeforeSendingIt() async throws {
        let session = try KeyringSession(.noService)
        let cache = try session.cache()
        let large = CacheRecord(bytes: [UInt8](repeating: 1, count: 1 << 20 + 1))
        let key = try randomKey()
        #expect(await failure { try await cache.replace(nil, with: large, for: key) }.code == .invalidArgument)
    }

    @Test(.timeLimit(.minutes(1))) func keepsLeasesOutOfTheKeyring() async throws {
        let session = try KeyringSession(.noService)
        let (cache, key) = (try session.cache(), try randomKey(.lease))
        #expect(try await cache.replace(nil, with: CacheRecord("mine"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("mine"))
    }

    @Test(.timeLimit(.minutes(2))) func countsRightFromSixteenTasksInFourProcesses() async throws {
        let session = try KeyringSession(.unlocked)
        let (address, directory) = (try session.value("BUS"), "\(session.directory)/locks")
        let key = try randomKey()
        let name = key.name
        #expect(try await session.cache().replace(nil, with: CacheRecord("0"), for: key))
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [
                            address = address as String, directory = directory as String, name = name as String
                        ] in
                        let settings = KeyringSettings(address: address, directory: directory)
                        let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
                        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
                        try await withThrowingTaskGroup { group in
                            for _ in 0..<4 { group.addTask { for _ in 0..<5 { try await increment(key, in: cache) } } }
                            try await group.waitForAll()
                        }
                    }
                }
            }
        }
        #expect(try await session.cache().record(for: key) == CacheRecord("80"))
    }

    @Test(.timeLimit(.minutes(1))) func isAsFastAsPromised() async throws {
        let session = try KeyringSession(.unlocked)
        let key = try randomKey()
        var times: [String: [Duration]] = [:]
        func measure(_ name: String, _ work: () async throws -> Void) async rethrows {
            let start = ContinuousClock.now
            try await work()
            times[name, default: []].append(start.duration(to: .now))
        }
        let cache = try session.cache()
        // Alone in its process (--filter isAsFastAsPromised), this loads the libraries too.
        try await measure("first read, maybe with loading") { _ = try await cache.record(for: key) }
        #expect(try await cache.replace(nil, with: CacheRecord("0"), for: key))
        for number in 0..<20 {
            try await measure("save") {
                _ = try await cache.replace(CacheRecord("\(number)"), with: CacheRecord("\(number + 1)"), for: key)
            }
            let new = try session.cache()
            try await measure("first read") { _ = try await new.record(for: key) }
            try await measure("1000 hits") { for _ in 0..<1000 { _ = try await new.record(for: key) } }
        }
        try session.lock()
        for _ in 0..<20 {
            let new = try session.cache()
            await measure("locked, first") { _ = await failure { try await new.record(for: key) } }
            await measure("locked, again") { _ = await failure { try await new.record(for: key) } }
        }
        for (name, values) in times.sorted(by: { $0.key < $1.key }) {
            print("keyring: \(name): median \(values.sorted()[values.count / 2])")
        }
        let medians = times.mapValues { $0.sorted()[$0.count / 2] }
        // Generous: other work may be going on. The promises are a tenth of this and measured in Benchmarks.
        #expect(try #require(medians["save"]) < .milliseconds(300))
        #expect(try #require(medians["first read"]) < .milliseconds(150))
        #expect(try #require(medians["1000 hits"]) < .milliseconds(50))
        #expect(try #require(medians["locked, first"]) < .milliseconds(50))
    }
}

/// Adds one to the number under `key` by comparing and replacing.
func increment(_ key: CacheKey, in cache: any TokenCache) async throws {
    while true {
        let record = try #require(try await cache.record(for: key))
        let number = try #require(Int(String(decoding: record.bytes, as: UTF8.self)))
        if try await cache.replace(record, with: CacheRecord("\(number + 1)"), for: key) { return }
    }
}
