// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The lock files and the leases of the user's runtime directory.
final class KeyringFiles: Sendable {
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

    /// Tells listeners that the record under `key` was changed in place, for which no keyring sends a signal. The hint is a
    /// file beside the leases, whose directory is watched anyway.
    func hint(at key: CacheKey) async {
        try? await leases().hint(at: key)  // A hint that is lost costs time, never correctness.
    }

    /// Takes the lock under which the keyring may show a dialog. One program of the user has it at a time.
    /// - Throws: `.cacheBusy` if another program holds it for longer than `timeout`, the errors of an unusable directory,
    ///   `CancellationError`.
    func promptLock(within timeout: Duration) async throws -> HeldLock {
        // A person takes seconds, so that rare attempts suffice.
        let locks = SharedLocks(directory: "\(try root())/prompts", timeout: timeout, pause: .milliseconds(100))
        return try await locks.take(for: CacheKey(group: CacheGroup("keyring"), kind: .lease, name: "prompt"))
    }

    private func root() throws -> String {
        try settings.directory ?? RuntimeDirectory.path()
    }

    private func made() throws -> Parts {
        try parts.withLock { parts in
            if let parts { return parts }
            let root = try root()
            let new = Parts(
                locks: SharedLocks(directory: "\(root)/keyring", timeout: settings.lockTimeout),
                leases: FileTokenCache(directory: "\(root)/leases")
            )
            parts = new
            return new
        }
    }
}
