// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Has the tokens of a route.
package protocol TokenDesk: Sendable {
    /// Returns the token for a request, on the connection's own thread: the call may block as long as the client may wait.
    ///
    /// A token that was issued after the request began is not renewed: then the desk returns the refused one again.
    func token(for wish: TokenWish) throws(ForwardingProblem) -> String
}

/// The wish of one request.
package struct TokenWish: Sendable {
    /// When the request began.
    package let begun: ContinuousClock.Instant
    /// The token that the server has refused in this request.
    package var refused: String?
    /// The values of `WWW-Authenticate` in the refusal.
    package var challenges: [String] = []
}
