// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Stops a program that sends a refresh again and again although the server refuses it.
///
/// Five refusals of the same request within a minute are enough: for a minute after the last of them it is not sent.
/// Another refresh token, or a new sign-in, makes it another request. What never reached the server does not count, so
/// that a program which comes back online goes on at once.
final class LoopBrake: Sendable {
    private struct Failures {
        var times: [Int64]
        var last: AuthenticationError
    }

    private let failures = Mutex<[String: Failures]>([:])
    private static let most = 5
    /// Seconds.
    private static let window: Int64 = 60

    /// - Throws: While the request is not to be sent, the last refusal's code where a person or the set-up can change it,
    ///   else `.requestLoop`; with the last refusal beneath.
    func check(_ key: String, at now: Int64, context: RequestContext) throws {
        let known = failures.withLock { failures in
            // A clock that was set back must not make a wait longer than it can have been.
            failures = failures.filter { entry in
                entry.value.times.last.map { $0 <= now && now - $0 < Self.window } ?? false
            }
            return failures[key]
        }
        guard let known, known.times.count >= Self.most, let first = known.times.first, let last = known.times.last,
            last - first <= Self.window
        else { return }
        let isForSomebodyToChange = .interactionRequired ~= known.last.code || .configuration ~= known.last.code
        throw AuthenticationError(
            isForSomebodyToChange ? known.last.code : .requestLoop,
            "The server refused this request \(Self.most) times in a minute; it is not sent again for "
                + "\(last + Self.window - now) s. The last answer: \(known.last.message)",
            serverError: known.last.serverError,
            claims: known.last.claims,
            retryAfter: .seconds(last + Self.window - now),
            correlationID: context.correlationID,
            underlyingError: known.last
        )
    }

    func note(_ error: AuthenticationError, for key: String, at now: Int64) {
        guard error.isTheServersAnswer else { return }
        failures.withLock { failures in
            let times = (failures[key]?.times ?? []) + [now]
            failures[key] = Failures(times: times.suffix(Self.most), last: error)
        }
    }

    /// The request goes on under another name: what was noted counts for it.
    func move(_ key: String, to other: String) {
        failures.withLock { failures in
            if let known = failures.removeValue(forKey: key) { failures[other] = known }
        }
    }

    func forget(_ key: String) {
        failures.withLock { $0[key] = nil }
    }
}

extension AuthenticationError {
    /// Whether the server said something that it will say again.
    fileprivate var isTheServersAnswer: Bool {
        guard code != .accountRemoved, code != .requestLoop else { return false }
        let families: [Code] = [.interactionRequired, .serverUnavailable, .invalidResponse, .configuration]
        return families.contains { $0 ~= code }
    }
}

extension SilentRequest {
    /// Names the request for the brake: the sign-in and the refresh token are part of it.
    func loopKey(_ credentials: AccountCredentials, _ token: CachedRefreshToken) -> String {
        Digest.hexadecimal(of: [throttleKey, claims ?? "", credentials.incarnation, token.secret])
    }
}
