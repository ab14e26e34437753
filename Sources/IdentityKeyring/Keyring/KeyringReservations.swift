// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport

/// The keys whose next write must not fail because the keyring is just being restarted.
final class KeyringReservations: Sendable {
    private let counts = Mutex<[CacheKey: Int]>([:])

    func contains(_ key: CacheKey) -> Bool {
        counts.withLock { $0[key] != nil }
    }

    func add(_ key: CacheKey) -> any TokenCacheReservation {
        counts.withLock { $0[key, default: 0] += 1 }
        return Reservation(self, key)
    }

    fileprivate func remove(_ key: CacheKey) {
        counts.withLock { counts in
            let count = counts[key] ?? 0
            counts[key] = count > 1 ? count - 1 : nil
        }
    }
}

private final class Reservation: TokenCacheReservation {
    private let reservations: KeyringReservations
    private let key: Mutex<CacheKey?>

    init(_ reservations: KeyringReservations, _ key: CacheKey) {
        self.reservations = reservations
        self.key = Mutex(key)
    }

    deinit {
        end()
    }

    func release() async {
        end()
    }

    private func end() {
        if let key = key.withLock({ $0.take() }) { reservations.remove(key) }
    }
}

extension KeyringTokenCache {
    /// Waits for a keyring that is being restarted, if a write of `key` was reserved while it ran. Starts none: the
    /// started one would take the name of the one that comes.
    func awaitKeyring(of key: CacheKey) async {
        guard reservations.contains(key), !connector.isListening else { return }
        // The read or write that follows tells what is missing.
        try? await withDeadline(connector.settings.readTimeout) { [connector] in try await connector.waitForKeyring() }
    }
}
