// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
package import SystemSupport

extension Promise {
    /// Returns the outcome, or throws ``WaitTimedOut`` after `timeout` of real time. You can wait again after that.
    package func value(within timeout: Duration, for what: String) async throws -> Value {
        do {
            return try await withDeadline(timeout) { try await self.value() }
        } catch is DeadlineExceeded {
            throw WaitTimedOut(what: what)
        }
    }
}

extension Promise where Value == Void {
    package func fulfil() { finish(.success(())) }
}

/// An event that a test waited for and that did not happen in time.
///
/// ```swift
/// await #expect(throws: WaitTimedOut.self) { try await browser.finalPage(timeout: .milliseconds(10)) }
/// ```
public struct WaitTimedOut: Error, CustomStringConvertible, Sendable {
    let what: String

    /// The event that the test waited for.
    public var description: String { "\(what) did not happen in time." }
}
