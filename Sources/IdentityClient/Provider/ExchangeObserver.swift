// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import HTTPTypes
package import Logging

/// A value that hears each request, answer and step of an acquisition: the capture of `IdentityCapture`.
package protocol ExchangeObserver: Sendable {
    /// Notes a request with its answer, or the error in place of one.
    func note(
        _ request: HTTPRequest,
        body: [UInt8]?,
        took duration: Duration,
        _ outcome: Result<(HTTPResponse, body: [UInt8]), any Error>,
        _ correlationID: UUID
    )

    /// Notes the address that the person's browser is sent to.
    func note(authorization url: URL, _ correlationID: UUID)

    /// Notes the answer that came through the browser.
    ///
    /// - Parameter isAwaited: Whether it answers the pending sign-in, by its `state`.
    func note(redirect items: [(String, String)], isAwaited: Bool, _ correlationID: UUID)

    /// Notes a step or a decision.
    ///
    /// - Parameter text: A text of this library's own, without values.
    func note(_ text: String, error: (any Error)?, _ correlationID: UUID?)

    /// Returns a logger that also notes what the library decides.
    func logger(beside logger: Logger) -> Logger
}
