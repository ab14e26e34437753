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

    /// The right to have the keyring show a dialog, which one program of the user has at a time.
    /// - Throws: `.cacheBusy` where another one keeps it for longer than `timeout`, `CancellationError`, and what a directory
    ///   that cannot be used leads to.
    func rightToPrompt(within timeout: Duration) async throws -> HeldLock {
        // A person takes seconds.
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
