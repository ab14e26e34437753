// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import SystemSupport

/// Waits for the redirect from the provider. The default listens on the loopback interface.
///
/// ```swift
/// let listener = try await receiver.start(for: .loopback, responseMode: .query)
/// let redirect = try await listener.receive()
/// await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
/// await listener.close()
/// ```
///
/// - SeeAlso: [RFC 8252 §7](https://www.rfc-editor.org/rfc/rfc8252#section-7)
public protocol RedirectReceiver: Sendable {
    /// The response modes that this receiver supports; the default is all. A sign-in without an explicit mode uses one
    /// of them.
    var responseModes: Set<ResponseMode> { get }

    /// Starts listening, before the library creates the authorization address.
    ///
    /// - Parameters:
    ///   - redirectURI: The configured redirect address. If it names no port, the receiver chooses one.
    ///   - responseMode: The requested response mode. For ``ResponseMode/formPost``, accept an answer in the query too,
    ///     like this library's receivers: some providers send it there anyway.
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` with the port, if listening at the address fails.
    func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener

    /// Starts listening for the return from a sign-out page, which has only `state`, in the query.
    ///
    /// - Parameter redirectURI: The address for the browser's return.
    /// - Throws: As ``start(for:responseMode:)``.
    /// - SeeAlso: [RP-Initiated Logout §3](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RedirectionAfterLogout)
    func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener
}

extension RedirectReceiver {
    /// Listens as for a sign-in with its answer in the query.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await start(for: redirectURI, responseMode: .query)
    }
}

extension RedirectReceiver {
    /// All response modes.
    public var responseModes: Set<ResponseMode> { Set(ResponseMode.allCases) }
}

/// Receives the answers to one authorization request.
///
/// Any request may arrive here, from other programs on the machine or from a browser's guesses. The listener passes on
/// requests with the right form; the caller decides whether one is the awaited answer, and reports it with
/// ``answer(_:with:)``.
///
/// ```swift
/// let redirect = try await listener.receive()
/// await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
/// await listener.close()
/// ```
public protocol RedirectListener: Sendable {
    /// The address with the bound port, exactly as sent to the provider.
    var redirectURI: URL { get }

    /// The next redirect, as the full address with its parameters in the query, in every response mode.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the listener is closed;
    ///   `AuthenticationError(.userCancelled, …)` if the receiver knows that the person gave up, for example by closing
    ///   the window. The sign-in then ends.
    func receive() async throws -> ReceivedRedirect

    /// Shows the outcome in the browser.
    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async

    /// Stops listening and frees the port, after the answered pages are delivered (1 s at most).
    ///
    /// In a cancelled task it does not wait for them.
    func close() async
}

/// A redirect that reached a ``RedirectListener``.
///
/// ```swift
/// let result = try await app.completeAuthorization(request, with: redirect.url)
/// ```
public struct ReceivedRedirect: Sendable {
    /// The address with its parameters in the query. It contains the authorization code: never log it.
    public let url: URL

    /// Identifies the redirect within its listener.
    package let id: UInt64

    /// Creates a redirect; listeners do this.
    public init(url: URL) {
        self.init(url: url, id: 0)
    }

    package init(url: URL, id: UInt64) {
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

/// Opens the browser and waits for its answer. Opening may last until the browser has loaded the page.
///
/// - Returns: The answer, even if the browser's launcher does not return.
/// - Throws: The error of either, or `CancellationError`.
func answer<Value: Sendable>(
    whileOpening open: @escaping @Sendable () async throws -> Void,
    _ answer: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
    let opener = Task {
        do { try await open() } catch { result.finish(.failure(error)) }
    }
    let receiver = Task { await result.finish(by: answer) }
    defer {
        opener.cancel()
        receiver.cancel()
    }
    return try await result.value()
}

/// How the provider returns the authorization response.
///
/// ```swift
/// parameters.responseMode = .formPost
/// ```
///
/// - SeeAlso: [OAuth 2.0 Multiple Response Types §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes),
///   [Form Post Response Mode](https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html)
@nonexhaustive public enum ResponseMode: String, Hashable, Sendable, CaseIterable {
    /// In the query of the redirect.
    case query
    /// In a form that the browser posts, so that the code is not in the address bar.
    ///
    /// An answer in the query is accepted too: some providers publish the form but send a query.
    case formPost = "form_post"
}

extension ResponseMode {
    /// The modes that are accepted if this mode was requested.
    ///
    /// Deviation: GitLab publishes `form_post`, but its consent page loses the request for it; WSO2 Identity Server
    /// does not post errors. Both then answer in the query.
    package var accepted: [ResponseMode] { self == .formPost ? [.formPost, .query] : [.query] }

    /// The HTTP method of an answer in this mode.
    var method: String { self == .formPost ? "POST" : "GET" }
}
