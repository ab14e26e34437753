// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Logging
import Synchronization
import Testing

@testable import IdentityKeyring

/// Items that a person, or another program, has changed or copied.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct DamagedItemsTests {
    private let kept = CacheRecord("kept")

    /// The contents of an item under a key that has a record of that name.
    enum Damage: CaseIterable, Sendable {
        case otherBytes, cutRecord, unknownName, nameOfAnother

        func secret(_ other: CacheKey) -> String {
            switch self {
            case .otherBytes: "something else"
            case .cutRecord: "swift-identity-client 1 acc"
            case .unknownName: "swift-identity-client 1 account nobody\nx"
            case .nameOfAnother: "swift-identity-client 1 account \(other.name)\nx"
            }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: Damage.allCases)
    func isSetAsideByAListing(_ damage: Damage) async throws {
        let session = try KeyringSession(.unlocked)
        let (damaged, other) = (try randomKey(), try randomKey())
        for key in [damaged, other] { #expect(try await session.cache().replace(nil, with: kept, for: key)) }
        try store(damage.secret(other), as: damaged, in: session)
        let warnings = Warnings()
        let cache = KeyringTokenCache(
            applicationName: "Test",
            settings: try session.settings(),
            logger: Logger(label: "test") { _ in warnings }
        )
        for _ in 0..<2 { #expect(try await cache.records(of: .account, in: other.group) == [other: kept]) }
        #expect(try await session.cache().record(for: other) == kept)
        let seen = warnings.seen.messages.withLock { $0 }
        #expect(seen.count == 1 && seen[0].contains("renamed to \"Test (damaged sign-in)\""), "\(seen)")
        #expect(try session.run("secret-tool search --all kind account_corrupt").contains("name = \(damaged.name)-"))
        #expect(try await cache.replace(nil, with: CacheRecord("new"), for: damaged))
        #expect(try await session.cache().records(of: .account, in: other.group).count == 2)
    }

    /// Otherwise the account would still be listed after it was removed.
    @Test(.timeLimit(.minutes(1))) func aCopyUnderAnotherNameIsNoRecord() async throws {
        let session = try KeyringSession(.unlocked)
        let (key, copy) = (try randomKey(), try randomKey())
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        try store("swift-identity-client 1 account \(key.name)\nkept", as: copy, in: session)
        let cache = try session.cache()
        #expect(try await cache.records(of: .account, in: key.group) == [key: kept])
        #expect(try await cache.replace(kept, with: nil, for: key))
        for cache in [cache, try session.cache()] {
            #expect(try await cache.records(of: .account, in: key.group) == [:])
        }
    }

    /// All encrypted files need it, and the person can put it back.
    @Test(.timeLimit(.minutes(1))) func theKeyOfEncryptedFilesStaysWhereItIs() async throws {
        let session = try KeyringSession(.unlocked)
        func cache() throws -> DesktopTokenCache {
            DesktopTokenCache(
                keyring: try session.cache(),
                policy: .standard,
                directory: "\(session.directory)/state",
                prompting: .never
            )
        }
        let key = try randomKey()
        #expect(try await cache().replace(nil, with: kept, for: key))
        let item = KeyringEncryptionKey.item(of: key.group)
        let stored = try #require(try await session.cache().record(for: item))
        try store("something else", as: item, in: session)
        let read = await #expect(throws: AuthenticationError.self) { try await cache().record(for: key) }
        #expect(read?.code == .cacheKeyUnavailable && read?.message.contains("Nothing was changed") == true)
        let new = await failure { try await cache().replace(nil, with: kept, for: randomKey()) }
        #expect(new.code == .cacheKeyUnavailable)
        let direct = await failure { try await session.cache().replace(nil, with: stored, for: item) }
        #expect(direct.code == .cacheKeyUnavailable)
        #expect(try session.run("secret-tool search --all kind key").contains("something else"))
        let keyring = try session.cache()
        let collection = try await keyring.openCollection()
        try await keyring.connector.link().create(
            KeyringItem(stored, for: item).secret,
            label: "mended",
            attributes: KeyringAttributes.record(item),
            in: collection,
            within: .seconds(5)
        )
        #expect(try await cache().record(for: key) == kept)
    }

    private func store(_ secret: String, as key: CacheKey, in session: KeyringSession) throws {
        let attributes = KeyringAttributes.record(key).map { "\($0.0) \($0.1)" }.joined(separator: " ")
        let text = secret.replacing("\n", with: "\\n")
        try session.run("printf '\(text)' | secret-tool store --label=other \(attributes)")
    }
}
