// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The key of a group's encrypted files: one item of the keyring.
struct KeyringEncryptionKey: EncryptionKeyProvider {
    let keyring: any TokenCache
    let files: FileTokenCache
    let group: CacheGroup

    /// The key; a new one when there is none and nothing that it could be missing for.
    func encryptionKey() async throws -> EncryptionKey {
        if let key = try await stored() { return key }
        try await refuseToReplaceOne()
        let new = EncryptionKey.random()
        if try await keyring.replace(nil, with: CacheRecord(bytes: new.bytes), for: item) { return new }
        guard let key = try await stored() else {
            throw AuthenticationError(.cacheBusy, "The key of the encrypted sign-ins is being changed. Try again.")
        }
        return key
    }

    /// Reads the key, and makes none.
    ///
    /// - Throws: `.cacheKeyUnavailable` where it is missing; what the keyring throws.
    func check() async throws {
        if try await stored() == nil { try await refuseToReplaceOne() }
    }

    private func refuseToReplaceOne() async throws {
        for kind in DesktopStores.movableKinds where try await !files.records(of: kind, in: group).isEmpty {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The keyring does not have the key of the encrypted sign-ins in \(try files.directory())/\(group.name). Use "
                    + "the keyring in which they were made or its backup; to sign in anew, remove that directory."
            )
        }
    }

    private func stored() async throws -> EncryptionKey? {
        guard let record = try await keyring.record(for: item) else { return nil }
        guard let key = try? EncryptionKey(record.bytes) else {  // Of the wrong length: somebody else's.
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The keyring's item for the key of the encrypted sign-ins is damaged."
            )
        }
        return key
    }

    private var item: CacheKey { Self.item(of: group) }

    /// Where the key of a group's files is in the keyring.
    static func item(of group: CacheGroup) -> CacheKey {
        CacheKey(group: group, kind: .encryptionKey, name: "encryption")
    }
}

extension CacheKey.Kind {
    /// The key of encrypted files.
    static let encryptionKey = CacheKey.Kind(rawValue: "key")
}
