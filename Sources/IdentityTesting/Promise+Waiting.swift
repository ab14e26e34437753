// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension Promise {
    /// The outcome, or ``WaitTimedOut`` when there is none after `timeout` of real time. It may be waited for again then.
    func value(within timeout: Duration, for what: String) async throws -> Value {
        do {
            return try await withDeadline(timeout) { try await self.value() }
        } catch is DeadlineExceeded {
            throw WaitTimedOut(what: what)
        }
    }
}

extension Promise where Value == Void {
    func fulfil() { finish(.success(())) }
}

/// What a test waited for did not happen in time.
public struct WaitTimedOut: Error, CustomStringConvertible, Sendable {
    let what: String

    /// What was waited for.
    public var description: String { "\(what) did not happen in time." }
}
