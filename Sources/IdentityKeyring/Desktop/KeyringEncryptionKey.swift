// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The key of a group's encrypted files: one item of the keyring.
struct KeyringEncryptionKey: EncryptionKeyProvider {
    let keyring: any TokenCache
    let files: FileTokenCache
    let group: CacheGroup

    /// Returns the key. Creates one if there is none and no encrypted record needs a lost key.
    func encryptionKey() async throws -> EncryptionKey {
        if let key = try await stored() { return key }
        try await requireNoRecords()
        let new = EncryptionKey.random()
        if try await keyring.replace(nil, with: CacheRecord(bytes: new.bytes), for: item) { return new }
        guard let key = try await stored() else {
            throw AuthenticationError(.cacheBusy, "The key of the encrypted sign-ins is being changed. Try again.")
        }
        return key
    }

    /// Reads the key. Creates none.
    ///
    /// - Throws: `.cacheKeyUnavailable` if encrypted records need a missing key; the errors of the keyring.
    func check() async throws {
        if try await stored() == nil { try await requireNoRecords() }
    }

    private func requireNoRecords() async throws {
        for kind in DesktopStores.movableKinds where try await !files.records(of: kind, in: group).isEmpty {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The keyring does not have the key of the encrypted sign-ins in \(try files.directory())/\(group.name). Use "
                    + "the keyring in which they were encrypted, or its backup."
            )
        }
    }

    private func stored() async throws -> EncryptionKey? {
        guard let record = try await keyring.record(for: item) else { return nil }
        guard let key = try? EncryptionKey(record.bytes) else {  // An item of the wrong length is not our key.
            throw AuthenticationError.keyringKeyDamaged
        }
        return key
    }

    private var item: CacheKey { Self.item(of: group) }

    /// Returns the cache key under which the keyring has the encryption key of a group.
    static func item(of group: CacheGroup) -> CacheKey {
        CacheKey(group: group, kind: .encryptionKey, name: "encryption")
    }
}

extension CacheKey.Kind {
    /// The key of encrypted files.
    static let encryptionKey = CacheKey.Kind(rawValue: "key")
}
