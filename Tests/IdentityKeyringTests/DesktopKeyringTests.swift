// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import IdentityKeyring

/// Encrypted files whose key is in GNOME Keyring.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct DesktopKeyringTests {
    private static func cache(_ address: String, _ directory: String) -> DesktopTokenCache {
        let settings = KeyringSettings(address: address, directory: "\(directory)/locks")
        return DesktopTokenCache(
            keyring: KeyringTokenCache(applicationName: "Test", settings: settings),
            policy: .standard,
            directory: "\(directory)/state",
            prompting: .never
        )
    }

    /// The person removes the key while a program runs, as in "Passwords and Keys". Another program then creates a new key.
    @Test(.timeLimit(.minutes(1))) func encryptsWithTheNewKeyAfterTheOldKeyWasDeleted() async throws {
        let session = try KeyringSession(.unlocked)
        let (address, directory) = (try session.value("BUS"), session.directory)
        let (running, key, later) = (Self.cache(address, directory), try randomKey(), try randomKey())
        #expect(try await running.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await running.replace(CacheRecord("x"), with: nil, for: key))
        try session.run("secret-tool clear xdg:schema SwiftIdentityClient.Record kind key")
        let name = key.name
        await #expect(processExitsWith: .success) {
            [address = address as String, directory = directory as String, name = name as String] in
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
            let other = DesktopKeyringTests.cache(address, directory)
            try #require(try await other.replace(nil, with: CacheRecord("theirs"), for: key))
        }
        #expect(try await running.replace(nil, with: CacheRecord("ours"), for: later))
        #expect(try await running.record(for: key) == CacheRecord("theirs"))
        let new = Self.cache(address, directory)
        let records = [key: CacheRecord("theirs"), later: CacheRecord("ours")]
        #expect(try await new.records(of: .account, in: key.group) == records)
    }

    /// No program replaces the key while records need it: their sign-ins would be lost.
    @Test(.timeLimit(.minutes(1))) func keepsRecordsWhoseKeyWasDeleted() async throws {
        let session = try KeyringSession(.unlocked)
        let (address, directory) = (try session.value("BUS"), session.directory)
        let (running, key) = (Self.cache(address, directory), try randomKey())
        #expect(try await running.replace(nil, with: CacheRecord("x"), for: key))
        try session.run("secret-tool clear xdg:schema SwiftIdentityClient.Record kind key")
        await #expect(processExitsWith: .success) {
            [address = address as String, directory = directory as String] in
            let other = DesktopKeyringTests.cache(address, directory)
            let write = await failure { try await other.replace(nil, with: CacheRecord("y"), for: randomKey()) }
            #expect(write.code == .cacheKeyUnavailable)
        }
        #expect(try await running.record(for: key) == CacheRecord("x"))
    }
}
