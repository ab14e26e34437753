// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Sends one HTTP request. Replace it to go through a client of your own.
///
/// An implementation must not follow redirects, must verify TLS certificates, must bound the size of an answer
/// (1 MiB) and the time it takes, and must return promptly when its task is cancelled.
public protocol HTTPTransport: Sendable {
    /// Sends `request` with `body` and gives the whole answer.
    ///
    /// - Throws: `AuthenticationError(.network, …)` or one of its sub-codes when no answer came,
    ///   `AuthenticationError(.invalidResponse, …)` when the answer was too large, `CancellationError` when the task
    ///   was cancelled.
    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8])
}

/// A transport that can begin slow work before it knows the address, such as loading libcurl.
package protocol PreparableTransport: HTTPTransport {
    /// Begins that work and returns at once. A failure is told by the next request.
    ///
    /// The library calls it before a refresh, while it still reads the cache and the provider's documents.
    func prepare()
}
