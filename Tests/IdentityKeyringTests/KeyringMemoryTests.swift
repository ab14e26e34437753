// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import Synchronization
import Testing

@testable import IdentityKeyring

/// The records that the cache remembers, and its behavior without a signal from the bus.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringMemoryTests {
    @Test(.timeLimit(.minutes(1))) func doesNotRememberTheKeyOfEncryptedFiles() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, account) = (try session.cache(), try randomKey())
        let key = KeyringEncryptionKey.item(of: account.group)
        for key in [key, account] { #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key)) }
        #expect(cache.memory.record(for: key) == nil && cache.memory.record(for: account) == CacheRecord("x"))
        #expect(try await cache.record(for: key) == CacheRecord("x"))
        #expect(cache.memory.record(for: key) == nil)
    }

    /// The keyring has the new record, and its writer has not announced it.
    @Test(.timeLimit(.minutes(1))) func seesWhatAWriterStoredThatWasKilledThen() async throws {
        let session = try KeyringSession(.fake)
        let (writer, reader, key) = (try session.cache(), try session.cache(), try randomKey())
        try session.tell("kills", "yes")
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("one"))
        #expect(reader.memory.record(for: key) != nil)
        #expect(try await reader.records(of: .account, in: key.group).count == 1)
        let (address, directory, name) = (try session.value("BUS"), "\(session.directory)/locks", key.name)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [
                address = address as String, directory = directory as String, name = name as String
            ] in
            let settings = KeyringSettings(address: address, directory: directory)
            let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
            try await cache.connector.link().providerName.withLock { $0 = "gnome-keyring-d" }
            _ = try await cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key)
        }
        #expect(try await reader.record(for: key) == CacheRecord("two"))
        #expect(try await reader.records(of: .account, in: key.group) == [key: CacheRecord("two")])
        // Records are remembered again after the next change under this lock has ended.
        #expect(reader.memory.record(for: key) == nil)
        #expect(try await writer.replace(CacheRecord("two"), with: CacheRecord("three"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("three"))
        #expect(reader.memory.record(for: key) == CacheRecord("three"))
    }

    /// A refused replace has asked the keyring as well.
    @Test(.timeLimit(.minutes(1))) func remembersAgainAfterTheNextOneUnderTheLock() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        let dead = try await cache.files.locks().take(for: key)
        try dead.beginChange()
        dead.end()
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        #expect(cache.memory.record(for: key) == nil)
        #expect(try await !cache.replace(CacheRecord("other"), with: CacheRecord("two"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        #expect(cache.memory.record(for: key) == CacheRecord("one"))
    }

    @Test(.timeLimit(.minutes(1))) func seesWhatWasWrittenAfterTheLockFilesWereRemoved() async throws {
        let session = try KeyringSession(.unlocked)
        let (writer, reader, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("one"))
        #expect(reader.memory.record(for: key) != nil)
        try FileManager.default.removeItem(atPath: "\(session.directory)/locks/keyring/\(key.group.name)")
        #expect(try await writer.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("two"))
        #expect(reader.memory.record(for: key) == CacheRecord("two"))
    }

    /// The first process since the login makes the lock files.
    @Test(.timeLimit(.minutes(1))) func seesWhatIsWrittenWhereItCameFirst() async throws {
        let session = try KeyringSession(.unlocked)
        let (reader, writer, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await reader.record(for: key) == nil)
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("one"))
        #expect(try await writer.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("two"))
    }

    /// GLib ends the program if a part of a value without parts is read.
    @Test(.timeLimit(.minutes(1))) func survivesSignalsThatAreNotWhatTheyShouldBe() async throws {
        let session = try KeyringSession(.fake)
        let (address, directory) = (try session.value("BUS"), "\(session.directory)/locks")
        await #expect(processExitsWith: .success) {
            [
                address = address as String, directory = directory as String
            ] in
            let settings = KeyringSettings(address: address, directory: directory)
            let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
            let (key, second) = (try randomKey(), Duration.seconds(5))
            let hints = cache.changes(in: key.group)
            let link = try await cache.connector.link()
            // The signals arrive before the answer.
            _ = try await link.call(
                "Set",
                of: "org.example.Control",
                at: KeyringLink.root,
                "('babbles', '')",
                "()",
                within: second
            )
            #expect(try await cache.record(for: key) == nil)
            withExtendedLifetime(hints) {}
        }
    }
}
