// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import Synchronization

/// Sends one HTTP request. Implement it to use your own HTTP client.
///
/// An implementation must not follow redirects, must verify TLS certificates, must limit an answer's size (1 MiB) and
/// time, and must return promptly if its task is cancelled.
///
/// ```swift
/// struct LoggingTransport: HTTPTransport {
///     let base: any HTTPTransport
///
///     func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
///         let answer = try await base.send(request, body: body)
///         print(request.method, answer.0.status.code)
///         return answer
///     }
/// }
/// ```
public protocol HTTPTransport: Sendable {
    /// Sends `request` with `body` and returns the whole answer.
    ///
    /// - Throws: an error of the family `.network` if no answer came,
    ///   `AuthenticationError(.invalidResponse, …)` if the answer was too large, `CancellationError` if the task was
    ///   cancelled.
    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8])
}

/// A transport that can begin slow work before it knows the address, such as loading libcurl.
package protocol PreparableTransport: HTTPTransport {
    /// Begins that work and returns at once. The next request reports a failure.
    ///
    /// The library calls it before a refresh, while it still reads the cache and the provider's documents.
    func prepare()
}

/// A transport that ends a request itself when its time is over.
package protocol TimedTransport: HTTPTransport {
    /// Sends `request` as ``HTTPTransport/send(_:body:)`` does, for at most `limit`.
    ///
    /// The process may have stood still meanwhile. So what can be read without waiting is read first; only then the time counts.
    func send(_ request: HTTPRequest, body: [UInt8]?, within limit: Duration) async throws -> (HTTPResponse, [UInt8])
}

/// A transport that can also send and receive bodies piece by piece.
///
/// `AuthenticatedClient` of `IdentityResources` streams if the transport conforms to this protocol. With any other ``HTTPTransport``, bodies
/// are held in memory, within that transport's limits.
///
/// ```swift
/// let exchange = try await transport.open(request, body: nil)
/// while let piece = try await exchange.next() { consume(piece) }
/// ```
public protocol StreamingHTTPTransport: HTTPTransport {
    /// Sends the head of `request`, and starts to send `body`; returns the exchange as soon as the head of a final
    /// answer is there, possibly before the body is sent.
    ///
    /// The rules of `send` apply: no redirects, verified TLS, a prompt end on cancellation. Instead of a total
    /// time-out, the exchange fails after this time without progress.
    /// - Throws: The errors of ``HTTPTransport/send(_:body:)``, and those of `body`.
    func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange
}

/// A request's body, piece by piece.
///
/// ```swift
/// while let piece = try await source.next() { send(piece) }
/// ```
public protocol TransportBody: Sendable {
    /// The total number of bytes.
    var length: Int64 { get }

    /// The next piece, not empty; `nil` at the end. One call at a time.
    ///
    /// - Throws: Any error that prevents further reading; the request then ends with this error.
    func next() async throws -> [UInt8]?
}

/// An answer whose body is still arriving. Releasing it ends the connection.
///
/// ```swift
/// while let piece = try await exchange.next() { consume(piece) }
/// ```
public protocol TransportExchange: Sendable {
    /// The answer's head.
    var response: HTTPResponse { get }

    /// The next piece of the body, not empty; `nil` after the last. One call at a time.
    ///
    /// Without calls, only a bounded buffer fills.
    /// - Throws: `AuthenticationError` of the family `.network` if the connection broke before the body was complete;
    ///   `CancellationError` if the task was cancelled.
    func next() async throws -> [UInt8]?
}

/// An exchange over a transport that cannot stream, with both bodies in memory.
final class BufferedExchange: TransportExchange {
    let response: HTTPResponse
    private let body: Mutex<[UInt8]?>

    /// The maximum body for such a transport.
    static let maximumBodyLength: Int64 = 16 << 20

    init(_ transport: any HTTPTransport, _ request: HTTPRequest, body: (any TransportBody)?) async throws {
        var bytes: [UInt8]?
        if let body {
            guard body.length <= Self.maximumBodyLength else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The body is larger than 16 MiB, and this transport cannot stream. Use CurlTransport, or a "
                        + "StreamingHTTPTransport of your own."
                )
            }
            var gathered: [UInt8] = []
            while let piece = try await body.next() { gathered += piece }
            bytes = gathered
        }
        let (response, answer) = try await transport.send(request, body: bytes)
        self.response = response
        self.body = Mutex(answer.isEmpty ? nil : answer)
    }

    func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        return body.withLock { body in
            defer { body = nil }
            return body
        }
    }
}

extension HTTPTransport {
    /// Starts an exchange, streamed if this transport can.
    package func exchange(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
        if let streaming = self as? any StreamingHTTPTransport { return try await streaming.open(request, body: body) }
        return try await BufferedExchange(self, request, body: body)
    }
}

/// The library's name and version.
package enum LibraryVersion {
    /// The version: the first one in `CHANGELOG.md`. `Scripts/release` sets both.
    package static let current = "0.9.0"
}

extension HTTPRequest {
    /// The request with the library's name and version in `User-Agent`, unless the program set its own.
    ///
    /// Firewalls in front of providers and APIs refuse requests without one, and so does GitHub's API.
    /// - SeeAlso: [RFC 9110 §10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5)
    package var withUserAgent: HTTPRequest {
        guard headerFields[.userAgent] == nil else { return self }
        var request = self
        request.headerFields[.userAgent] = "swift-identity-client/\(LibraryVersion.current)"
        return request
    }
}
