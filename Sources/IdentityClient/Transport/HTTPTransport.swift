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

    /// A request will follow shortly: what takes long and needs no address may begin.
    ///
    /// Asked before a refresh, while the cache and the provider's documents are still being read. It returns at once,
    /// and what fails is told by the request. A transport that does not say otherwise does nothing; one that passes
    /// requests on passes this on, too.
    func prepare()
}

extension HTTPTransport {
    /// Does nothing.
    public func prepare() {}
}
