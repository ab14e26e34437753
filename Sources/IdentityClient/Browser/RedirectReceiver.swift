// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Waits where the provider sends the browser back to. The default listens on the loopback interface.
///
/// - SeeAlso: [RFC 8252 §7](https://www.rfc-editor.org/rfc/rfc8252#section-7)
public protocol RedirectReceiver: Sendable {
    /// The ways in which answers can arrive here. Where a sign-in leaves the choice open, it is one of these; the
    /// default is all.
    var responseModes: Set<ResponseMode> { get }

    /// Starts listening, before the authorization address is made.
    ///
    /// - Parameters:
    ///   - redirectURI: Where the program wants the answer. A port of its own choice is taken where it names none.
    ///   - responseMode: How the answer is asked for. Where that is ``ResponseMode/formPost``, take one in the query as
    ///     well, as the receivers of this library do: some providers send it so all the same.
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` when the address cannot be listened on, naming the port.
    func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener

    /// Starts listening for the return from a sign-out page, which brings `state` alone, in the query.
    ///
    /// - Parameter redirectURI: Where the browser is to come back to.
    /// - Throws: As ``start(for:responseMode:)``.
    /// - SeeAlso: [RP-Initiated Logout §3](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RedirectionAfterLogout)
    func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener
}

extension RedirectReceiver {
    /// Listens as for a sign-in whose answer comes in the query.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await start(for: redirectURI, responseMode: .query)
    }
}

extension RedirectReceiver {
    /// All there are.
    public var responseModes: Set<ResponseMode> { Set(ResponseMode.allCases) }
}

/// Receives the answers to one authorization request.
///
/// Anything may arrive here: other programs on the machine, a browser's guesses. The listener hands on what has the
/// right form; whether it is the answer that is waited for is decided by the caller, who says so with
/// ``answer(_:with:)``.
public protocol RedirectListener: Sendable {
    /// The address with the port that was bound, exactly as it is sent to the provider.
    var redirectURI: URL { get }

    /// The next redirect, as the full address with its parameters in the query, whichever way they came.
    ///
    /// - Throws: `CancellationError` when the task is cancelled or the listener is closed;
    ///   `AuthenticationError(.userCancelled, …)` where it can be known that the person gave up, for example by closing
    ///   the window. The sign-in then ends.
    func receive() async throws -> ReceivedRedirect

    /// Tells the browser how it ended.
    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async

    /// Stops listening and frees the port, after pages that were answered are delivered (1 s at most).
    ///
    /// In a cancelled task it does not wait for them.
    func close() async
}

/// A redirect that reached a ``RedirectListener``.
public struct ReceivedRedirect: Sendable {
    /// The address with its parameters in the query. It contains the authorization code: never log it.
    public let url: URL

    /// Tells redirects of one listener apart.
    public let id: UInt64

    /// Creates a redirect; listeners do this.
    public init(url: URL, id: UInt64) {
        self.url = url
        self.id = id
    }
}

extension ReceivedRedirect: CustomStringConvertible, CustomReflectable {
    /// The number only, never the address.
    public var description: String { "ReceivedRedirect(\(id))" }

    /// Shows the number only, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
