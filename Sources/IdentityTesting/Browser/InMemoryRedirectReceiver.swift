// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization
import SystemSupport

/// Receives redirects without a port. A ``ScriptedBrowser`` with the same receiver hands them over directly.
///
/// Loopback addresses get a port number, but no port is opened.
///
/// ```swift
/// configuration.redirectReceiver = InMemoryRedirectReceiver()
/// ```
public final class InMemoryRedirectReceiver: RedirectReceiver {
    private struct State {
        var listeners: [String: InMemoryRedirectListener] = [:]
        var nextPort: UInt16 = 49_152
    }

    private let state = Mutex(State())

    /// Creates a receiver without a listener.
    public init() {}

    /// Starts listening. No port is opened; a port that another listener of this receiver uses counts as taken.
    ///
    /// - Throws: `AuthenticationError.Code.redirectUnavailable` if all ports of the range are taken.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try state.withLock { state in
            let address = try Self.address(for: redirectURI, &state)
            guard let url = URL(string: address) else {
                throw AuthenticationError(.invalidArgument, "The redirect URI is not an address.")
            }
            let listener = InMemoryRedirectListener(redirectURI: url, responseMode: responseMode) { [weak self] in
                self?.state.withLock { $0.listeners[address] = nil }
            }
            state.listeners[address] = listener
            return listener
        }
    }

    /// Hands over a redirect and returns the page with which the program answers.
    ///
    /// - Parameters:
    ///   - url: The address with the parameters in its query.
    ///   - responseMode: How the provider sent the parameters.
    /// - Returns: `nil` if no listener is at the address, if a form arrived although the query was requested, or if the
    ///   listener is closed before it answers.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func deliver(_ url: URL, as responseMode: ResponseMode = .query) async throws -> RedirectPage? {
        let address = Self.withoutQuery(url.absoluteString)
        let listener = state.withLock { $0.listeners[address] ?? $0.listeners[address + "/"] }
        guard let listener, listener.responseMode.accepted.contains(responseMode) else { return nil }
        return try await listener.deliver(url)
    }

    /// Returns whether a redirect to this address would reach a listener.
    public func isListening(for url: URL) -> Bool {
        let address = Self.withoutQuery(url.absoluteString)
        return state.withLock { $0.listeners[address] != nil || $0.listeners[address + "/"] != nil }
    }

    private static func withoutQuery(_ address: String) -> String { String(address.prefix { $0 != "?" }) }

    private static func address(for redirectURI: RedirectURI, _ state: inout State) throws -> String {
        switch redirectURI.kind {
        case .custom(let url): return url.absoluteString
        case .loopback(let host, let ports, let path):
            func address(_ port: UInt16) -> String { "http://\((host ?? .ipv4).rawValue):\(port)\(path)" }
            guard let ports else {
                while state.listeners[address(state.nextPort)] != nil { state.nextPort &+= 1 }
                defer { state.nextPort &+= 1 }
                return address(state.nextPort)
            }
            guard let free = ports.first(where: { state.listeners[address($0)] == nil }) else {
                throw AuthenticationError(
                    .redirectUnavailable,
                    "Ports \(ports.lowerBound) to \(ports.upperBound) are taken."
                )
            }
            return address(free)
        }
    }
}

/// One listener of an ``InMemoryRedirectReceiver``.
final class InMemoryRedirectListener: RedirectListener {
    private struct State {
        var count: UInt64 = 0
        var queue: [ReceivedRedirect] = []
        var waiters: [UInt64: Promise<Void>] = [:]
        var pages: [UInt64: Promise<RedirectPage?>] = [:]
        var isClosed = false
    }

    let redirectURI: URL
    let responseMode: ResponseMode
    private let onClose: @Sendable () -> Void
    private let state = Mutex(State())

    init(redirectURI: URL, responseMode: ResponseMode, onClose: @escaping @Sendable () -> Void) {
        self.redirectURI = redirectURI
        self.responseMode = responseMode
        self.onClose = onClose
    }

    func receive() async throws -> ReceivedRedirect {
        while true {
            try Task.checkCancellation()
            let promise = Promise<Void>()
            let (redirect, id): (ReceivedRedirect?, UInt64) = try state.withLock { state in
                guard !state.isClosed else { throw CancellationError() }
                if !state.queue.isEmpty { return (state.queue.removeFirst(), 0) }
                state.count += 1
                state.waiters[state.count] = promise
                return (nil, state.count)
            }
            if let redirect { return redirect }
            defer { state.withLock { $0.waiters[id] = nil } }
            try await promise.value()
        }
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        state.withLock { $0.pages.removeValue(forKey: redirect.id) }?.finish(.success(page))
    }

    func close() async {
        let (waiters, pages) = state.withLock { state in
            state.isClosed = true
            defer {
                state.waiters = [:]
                state.pages = [:]
            }
            return (Array(state.waiters.values), Array(state.pages.values))
        }
        for waiter in waiters { waiter.fulfil() }
        for page in pages { page.finish(.success(nil)) }
        onClose()
    }

    func deliver(_ url: URL) async throws -> RedirectPage? {
        let page = Promise<RedirectPage?>()
        let waiters: [Promise<Void>]? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.count += 1
            state.queue.append(ReceivedRedirect(url: url, id: state.count))
            state.pages[state.count] = page
            return Array(state.waiters.values)
        }
        guard let waiters else { return nil }
        for waiter in waiters { waiter.fulfil() }
        return try await page.value()
    }
}
