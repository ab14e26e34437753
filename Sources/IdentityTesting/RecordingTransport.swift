// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import IdentityClient
import Synchronization

/// Passes requests on to another transport, counts them, and can play "no network".
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

    /// How many requests there were so far, failed ones included.
    public var count: Int { state.withLock { $0.requests.count } }

    /// Whether every request fails with `AuthenticationError.Code.connectionFailed`, as without a network.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Counts the request, and passes it on unless there is no network.
    ///
    /// - Throws: `AuthenticationError.Code.connectionFailed` where ``isOffline`` is set, else what the wrapped transport throws.
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
