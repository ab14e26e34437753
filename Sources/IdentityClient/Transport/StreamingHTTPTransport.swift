// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A transport that can also send and receive bodies piece by piece.
///
/// ``AuthenticatedClient`` uses it where the transport offers it. With any other ``HTTPTransport`` bodies are held in
/// memory, and are bounded by what that transport accepts.
public protocol StreamingHTTPTransport: HTTPTransport {
    /// Sends the head of `request`, and begins to send `body`; gives the exchange as soon as the head of a final answer
    /// is there, which may be before the body is sent.
    ///
    /// What holds for `send` holds here: no redirects, TLS verified, at once when the task is cancelled. In place of a
    /// total time-out, it fails when nothing has moved for that time.
    /// - Throws: As ``HTTPTransport/send(_:body:)``, and what `body` throws.
    func open(_ request: HTTPRequest, body: (any HTTPBodySource)?) async throws -> any HTTPExchange
}

/// A request's body, piece by piece.
public protocol HTTPBodySource: Sendable {
    /// How many bytes there are in all.
    var length: Int64 { get }

    /// The next piece, not empty; `nil` at the end. One call at a time.
    ///
    /// - Throws: Whatever keeps it from reading on; the request then ends with this error.
    func next() async throws -> [UInt8]?
}

/// An answer whose body is still arriving. Dropping it ends the connection.
public protocol HTTPExchange: Sendable {
    /// The answer's head.
    var response: HTTPResponse { get }

    /// The next piece of the body, not empty; `nil` after the whole of it. One call at a time.
    ///
    /// Where nobody asks, no more arrives than a bounded buffer holds.
    /// - Throws: `AuthenticationError.network` when the connection broke before the body was complete;
    ///   `CancellationError` when the task was cancelled.
    func next() async throws -> [UInt8]?
}
