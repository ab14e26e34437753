// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Remembers, for this process, what the server asked to wait for.
final class Throttle: Sendable {
    private let waits = Mutex<[String: Int64]>([:])
    static let longest: Int64 = 3600

    /// - Throws: `.throttled` while the server wants no such request.
    func check(_ key: String, at now: Int64, context: RequestContext) throws {
        let until = waits.withLock { waits in
            // A clock that was set back must not make a wait longer than it can have been.
            waits = waits.filter { $0.value > now && $0.value - now <= Self.longest }
            return waits[key]
        }
        guard let until else { return }
        throw AuthenticationError(
            .throttled,
            "The server asked to wait. Try again in \(until - now) s.",
            retryAfter: .seconds(until - now),
            correlationID: context.correlationID
        )
    }

    func note(_ error: AuthenticationError, for key: String, at now: Int64) {
        guard let wait = error.retryAfter else { return }
        waits.withLock { $0[key] = now + min(wait.components.seconds, Self.longest) }
    }
}
