// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import IdentityClient
import Synchronization

/// A transport that counts requests, passes them on to another transport, and can simulate a missing network.
///
/// ```swift
/// let transport = RecordingTransport(configuration.transport)
/// configuration.transport = transport
/// transport.isOffline = true
/// ```
public final class RecordingTransport: HTTPTransport {
    private struct State {
        var requests: [HTTPRequest] = []
        var isOffline = false
    }

    private let base: any HTTPTransport
    private let state = Mutex(State())

    /// Wraps a transport.
    public init(_ base: any HTTPTransport) {
        self.base = base
    }

    /// The requests so far, failed ones included. Their bodies are not kept.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// The number of requests so far, failed ones included.
    public var count: Int { state.withLock { $0.requests.count } }

    /// Whether every request fails with `AuthenticationError.Code.connectionFailed`, as if there were no network.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Counts the request, and passes it on unless ``isOffline`` is set.
    ///
    /// - Throws: `AuthenticationError.Code.connectionFailed` if ``isOffline`` is set; otherwise the wrapped transport's
    ///   errors.
    public func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let isOffline = state.withLock { state in
            state.requests.append(request)
            return state.isOffline
        }
        guard !isOffline else {
            throw AuthenticationError(.connectionFailed, "The network is switched off for this test.")
        }
        return try await base.send(request, body: body)
    }
}

extension RecordingTransport: PreparableTransport {
    package func prepare() { (base as? any PreparableTransport)?.prepare() }
}
