// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

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
    /// - Throws: `AuthenticationError(.network, …)` or one of its second levels if no answer came,
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
