// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Decides when a token is renewed before its end, so that many programs do not ask at the same instant.
///
/// A value: the time, and the draw that spreads the renewals, are arguments.
package struct RenewalSchedule: Hashable, Sendable {
    /// The rest of a token's life in which another token is due.
    package let margin: Duration

    package static let usualValidity = Duration.seconds(300)
    /// The longest time between two looks at the account and the token.
    package static let beat = Duration.seconds(60)

    /// - Parameters:
    ///   - left: The rest of the token's life when it was acquired.
    ///   - validity: How long each token stays valid at least, as far as its lifetime allows; `nil` for five minutes, or the
    ///     second half of a shorter life.
    ///   - draw: From 0 to 1: how much earlier than necessary the token is renewed, as a part of at most five minutes or a tenth
    ///     of its life.
    package init(left: Duration, validity: Duration?, draw: Double) {
        let left = max(.zero, left)  // an expired token is handed out in an outage
        let needed = validity.map { min($0, left * 9 / 10) } ?? min(Self.usualValidity, left / 2)
        margin = min(needed + min(Self.usualValidity, left / 10) * draw, left * 9 / 10)
    }

    package func isDue(left: Duration) -> Bool { left <= margin }

    /// The time until the next look.
    ///
    /// - Parameter failures: The number of renewals that have failed since the last success.
    package func wait(left: Duration, failures: Int) -> Duration {
        guard failures == 0 else { return Self.pause(after: failures) }
        return max(.seconds(1), min(Self.beat, left - margin))
    }

    /// The time until the next attempt: 5 s after one failure, then twice as long each time, at most a minute.
    package static func pause(after failures: Int) -> Duration {
        min(beat, .seconds(5 << min(max(failures, 1) - 1, 4)))
    }

    /// The draw for a token: a number from 0 to 1 that is the same in all processes, and another one for the next token.
    package static func draw(for token: String) -> Double {
        let digits = Digest.hexadecimal(of: ["renewal", token]).prefix(8)
        return Double(UInt32(digits, radix: 16) ?? 0) / (Double(UInt32.max) + 1)
    }

    /// Returns when a token is renewed that the server wants renewed from `refreshOn` on: up to five minutes later, at most a
    /// tenth of the time that is left then.
    package static func renewal(of token: String, from refreshOn: Int64, expiresOn: Int64) -> Int64 {
        let latest = max(0, min(300, (expiresOn - refreshOn) / 10))
        return refreshOn + Int64(Double(latest) * draw(for: token))
    }
}
