// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The wait before the next poll for the end of the person's sign-in: a pure decision.
///
/// - SeeAlso: [RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)
struct DevicePace: Hashable, Sendable {
    /// The interval that the server demands. It only grows.
    private(set) var interval: Duration
    private var failures = 0
    private var retryAfter = Duration.zero

    private static let maximumBackOff = Duration.seconds(60)

    init(interval seconds: Int) {
        interval = .seconds(seconds)
    }

    /// The wait before the next poll.
    var wait: Duration {
        var wait = interval
        for _ in 0..<min(failures, 10) { wait = min(wait * 2, max(interval, Self.maximumBackOff)) }
        return max(wait, retryAfter)
    }

    /// Takes an answer into account. Throws if the answer ends the wait.
    mutating func note(_ answer: EndpointOutcome<TokenResponse>) throws {
        switch answer {
        case .accepted:
            return
        case .refused(let error) where error.serverError?.error == "authorization_pending":
            answered()
        case .refused(let error) where error.serverError?.error == "slow_down":
            answered()
            interval += .seconds(5)
        case .refused(let error) where .serverUnavailable ~= error.code, .ambiguous(let error):
            // It is unknown whether the server acted; it is polled less often until it answers.
            failures += 1
            retryAfter = error.retryAfter ?? .zero
        case .refused(let error):
            throw error
        }
    }

    private mutating func answered() {
        failures = 0
        retryAfter = .zero
    }
}
