// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The key of a group's encrypted files outside the keyring.
struct GroupKeyFile: EncryptionKeyProvider {
    let keyFile: KeyFile
    /// Fetches the key from the file.
    let source: any EncryptionKeyProvider
    let files: FileTokenCache
    let group: CacheGroup

    /// Reads the key. Creates none.
    ///
    /// - Throws: `.cacheUndecryptable` if records of the group need another key, so that no record is written with a wrong
    ///   key beside them; the errors of the key file.
    func encryptionKey() async throws -> EncryptionKey {
        let key = try await source.encryptionKey()
        for kind in DesktopStores.movableKinds {
            for record in try await files.records(of: kind, in: group).values where key.isOther(than: record) {
                throw AuthenticationError(
                    .cacheUndecryptable,
                    "The key '\(keyFile)' is not the key of the encrypted sign-ins in \(try files.directory())/\(group.name). "
                        + "They are not changed: bring the right key back."
                )
            }
        }
        return key
    }
}
