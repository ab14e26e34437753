// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// Where the locks and the leases are.
final class KeyringPlace: Sendable {
    private struct Parts {
        let locks: SharedLocks
        let leases: FileTokenCache
    }

    private let settings: KeyringSettings
    private let parts = Mutex<Parts?>(nil)

    init(_ settings: KeyringSettings) {
        self.settings = settings
    }

    func locks() throws -> SharedLocks { try made().locks }
    func leases() throws -> FileTokenCache { try made().leases }

    /// Tells who listens that the record under `key` was changed where no keyring sends a signal: beside the leases,
    /// whose directory is watched anyway.
    func hint(at key: CacheKey) async {
        try? await leases().hint(at: key)  // A hint that is lost costs time, never correctness.
    }

    private func made() throws -> Parts {
        try parts.withLock { parts in
            if let parts { return parts }
            let root = try settings.directory ?? RuntimeDirectory.path()
            let new = Parts(
                locks: SharedLocks(directory: "\(root)/keyring", timeout: settings.lockTimeout),
                leases: FileTokenCache(directory: "\(root)/leases")
            )
            parts = new
            return new
        }
    }
}
