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
