// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

/// The leases that a cache may keep for this process although no refresh holds them: the cache failed while a lease was taken,
/// renewed or released, and may have done it all the same, or may do it later.
///
/// The next refresh in this process takes such a lease over at once. Beside that, it is removed in the background, so that the
/// other processes need not wait for its end.
final class StrayLeases: Sendable {
    /// By their nonces, with the task that removes the lease.
    private let known = Mutex<[CacheKey: [String: Task<Void, Never>?]]>([:])

    deinit {
        for tasks in known.withLock({ $0 }).values {
            for task in tasks.values { task?.cancel() }
        }
    }

    func contains(_ lease: RefreshLease, under key: CacheKey) -> Bool {
        known.withLock { $0[key]?[lease.nonce] != nil }
    }

    /// Remembers a lease whose renewal failed and may be done. The refresh that wanted it still holds the lease of before.
    func note(_ nonce: String, under key: CacheKey) {
        known.withLock { $0[key, default: [:]][nonce] = .some(nil) }
    }

    /// Begins to remove a lease that is not held, and those whose renewal failed. Returns at once.
    ///
    /// - Parameter mayComeLater: Whether the cache may store the lease only after another look found none.
    func remove(_ nonce: String?, in leases: RefreshLeaseStore, mayComeLater: Bool) {
        let key = leases.key
        // Without this object, which ends the removals when it goes.
        let leases = RefreshLeaseStore(cache: leases.cache, key: key, duration: leases.duration)
        known.withLock { known in
            let noted = (known[key] ?? [:]).filter { $0.value == nil }.keys
            for nonce in Set(noted).union([nonce].compactMap(\.self)) {
                known[key, default: [:]][nonce] = Task { [weak self] in
                    await Self.remove(nonce, in: leases, mayComeLater: mayComeLater)
                    self?.known.withLock { $0[key]?[nonce] = nil }
                }
            }
        }
    }

    /// Waits until no removal is under way.
    func finish() async {
        while let task = known.withLock({ $0.values.lazy.flatMap(\.values).compactMap(\.self).first }) {
            await task.value
        }
    }

    /// Removes the lease, or lets it end with its time.
    private static func remove(_ nonce: String, in leases: RefreshLeaseStore, mayComeLater: Bool) async {
        let (end, cache, key) = (SuspendingClock.now + leases.duration, leases.cache, leases.key)
        var pause = Duration.milliseconds(250)
        while SuspendingClock.now < end, !Task.isCancelled {
            // A cancelled pause, and a cache that still fails: the condition of the loop decides.
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(2))
            guard let found = try? await cache.record(for: key) as CacheRecord?? else { continue }
            if let found, RefreshLease(decoding: found)?.nonce == nonce {
                if (try? await cache.replace(found, with: nil, for: key)) == true { return }
            } else if !mayComeLater {
                return
            }
        }
    }
}
