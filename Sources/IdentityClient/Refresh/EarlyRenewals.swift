// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps a program that asks often from trying at each call to renew a token that is still good, while that fails.
final class EarlyRenewals: Sendable {
    private let failures = Mutex<[CacheKey: Int64]>([:])
    /// Seconds.
    private static let pause: Int64 = 60

    func mayBegin(_ key: CacheKey, at now: Int64) -> Bool {
        failures.withLock { failures in
            // A clock that was set back must not make the pause longer.
            failures = failures.filter { $0.value <= now && now - $0.value < Self.pause }
            return failures[key] == nil
        }
    }

    func failed(_ key: CacheKey, at now: Int64) {
        failures.withLock { $0[key] = now }
    }
}
