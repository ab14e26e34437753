// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Testing

@testable import IdentityKeyring
@testable import IdentityMSALKeyring

/// Secrets that cannot be read. KWallet's key of one session in 256 does not fit; some keyrings give no answer for an item.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct UndecodableSecretTests {
    private let kept = CacheRecord("kept")

    @Test(.timeLimit(.minutes(1)), arguments: ["garbles", "scrambles"])
    func isReadInAnotherSession(_ fault: String) async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: kept, for: key))
        try session.tell(fault, "1")
        #expect(try await cache.record(for: key) == kept)
        let other = try session.cache()
        try session.tell(fault, "1")
        #expect(try await other.record(for: key) == kept)
        try session.tell(fault, "1")
        #expect(try await session.cache().records(of: .account, in: key.group) == [key: kept])
        // A write reads first.
        try session.tell(fault, "1")
        #expect(try await session.cache().replace(kept, with: CacheRecord("new"), for: key))
        try session.tell(fault, "1")
        #expect(try await session.cache().replace(nil, with: kept, for: randomKey()))
    }

    /// KWallet is known for such sessions, so that more of them are tried.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [("2", "kwalletd5", true), ("2", "python3", false), ("4", "kwalletd5", false)]
    )
    func isReadInAsManySessionsAsTheKeyringNeeds(count: String, name: String, isRead: Bool) async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        try session.tell("called", name)
        try session.tell("garbles", count)
        let outcome = await failure { try await session.cache().record(for: key) }
        #expect(outcome.code == (isRead ? nil : .cache))
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [("garbles", "1000", "0"), ("scrambles", "1000", "0"), ("withholds", "yes", "no")]
    )
    func isNeverAbsentAndNeverOverwritten(fault: String, on: String, off: String) async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        let encrypted = DesktopTokenCache(
            keyring: try session.cache(),
            policy: .standard,
            directory: "\(session.directory)/state",
            prompting: .never
        )
        let sealed = try randomKey(group: "sealed")
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        #expect(try await encrypted.replace(nil, with: kept, for: sealed))
        let item = MSALKeyringItem.readOnly(schema: "com.contoso.tokens", attributes: ["product": "desk"])
        try await session.cache().connector.withLink { link in
            let collection = try await link.defaultCollection(within: .seconds(5))
            let content = Array("{}".utf8)
            try await link.create(content, label: "", attributes: item.query, in: collection, within: .seconds(5))
        }
        try session.tell(fault, on)

        let cache = try session.cache()
        #expect(await failure { try await cache.record(for: key) }.code == .cache)
        #expect(await failure { try await cache.records(of: .account, in: key.group) }.code == .cache)
        #expect(await failure { try await cache.replace(nil, with: CacheRecord("new"), for: key) }.code == .cache)
        #expect(await failure { try await cache.replace(kept, with: nil, for: key) }.code == .cache)
        let desktop = DesktopTokenCache(
            keyring: try session.cache(),
            policy: .standard,
            directory: "\(session.directory)/state",
            prompting: .never
        )
        #expect(await failure { try await desktop.record(for: sealed) }.code == .cache)
        #expect(await failure { try await desktop.checkReadable(.encryptedFile, in: sealed.group) }.code == .cache)
        let shared = SharedMSALKeyringCache(item, clientID: "client", keyring: try session.cache())
        let group = CacheGroup.application("client")
        #expect(await failure { try await shared.records(of: .account, in: group) }.code == .cache)

        try session.tell(fault, off)
        #expect(try await session.cache().record(for: key) == kept)
        #expect(try await session.cache().records(of: .account, in: key.group) == [key: kept])
        #expect(try await desktop.record(for: sealed) == kept)
        #expect(try await shared.records(of: .account, in: group).isEmpty)
    }

    /// KWallet refuses a secret that it cannot decrypt, and leaves an empty item.
    @Test(.timeLimit(.minutes(1)), arguments: ["python3", "gnome-keyring-d"])
    func isSentInAnotherSession(name: String) async throws {
        let session = try KeyringSession(.fake)
        try session.tell("called", name)
        let key = try randomKey()
        try session.tell("refuses", "1000")
        #expect(await failure { try await session.cache().replace(nil, with: kept, for: key) }.code == .cache)
        try session.tell("refuses", "1")
        #expect(try await session.cache().record(for: key) == nil)
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        #expect(try await session.cache().record(for: key) == kept)
        try session.tell("refuses", "1")
        #expect(try await session.cache().replace(kept, with: CacheRecord("new"), for: key))
        #expect(try await session.cache().records(of: .account, in: key.group) == [key: CacheRecord("new")])
    }

    /// The advice of the error keeps the sign-in.
    @Test func isNoReasonToSignInAgain() throws {
        let error = try #require(AuthenticationError.fromKeyring(GLibFailure.undecodable) as? AuthenticationError)
        #expect(error.message.contains("no need to sign in again") && error.message.contains("Nothing was changed"))
    }
}
