// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import LoopbackHTTP

/// Receives redirects to a scheme of the program's own, `msauth.com.example.app://auth` for example.
///
/// The desktop starts a program for such an address, which hands it to the one that waits: over a socket in the user's
/// runtime directory, to which no other user can connect. `identityctl register-scheme` installs such a program; a
/// program that is registered itself calls ``deliver(_:)``. Whoever delivers an address ends no wait but the one whose
/// address and `state` it has.
///
/// Prefer the loopback interface where the provider allows it: another program of the user can take a scheme over.
/// - SeeAlso: [RFC 8252 §7.1](https://www.rfc-editor.org/rfc/rfc8252#section-7.1)
public struct CustomSchemeRedirectReceiver: RedirectReceiver {
    private let mailbox: CustomSchemeRelay

    /// Creates a receiver.
    public init() {
        mailbox = CustomSchemeRelay(directory: nil)
    }

    init(directory: String) {
        mailbox = CustomSchemeRelay(directory: directory)
    }

    /// Begins to listen.
    ///
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` when the address has no scheme of a program's own, or no
    ///   socket can be made; `AuthenticationError(.invalidArgument, …)` when a form post is asked for, which such an
    ///   address cannot get; `CancellationError`.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        guard responseMode == .query else {
            throw AuthenticationError(
                .invalidArgument,
                "A redirect address with a scheme of its own gets its answer in the query: set the response mode to query."
            )
        }
        return try await listener(for: redirectURI, answers: .signIn)
    }

    /// Begins to listen for the return from a sign-out page.
    ///
    /// - Throws: As ``start(for:responseMode:)``.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await listener(for: redirectURI, answers: .signOut)
    }

    /// Hands an address that this process was opened with to the program of this user that waits for it.
    ///
    /// Give it nothing but what the desktop, or the toolkit, says the program was opened with. Takes as long as that
    /// program takes to finish the sign-in, and 60 s at most.
    ///
    /// - Returns: Whether a program took it. `false` when none waits for it.
    /// - Throws: `AuthenticationError.configuration` when it has no scheme of a program's own, or is longer than 16 KiB;
    ///   `.cache` when the runtime directory is not safe; `CancellationError`.
    public static func deliver(_ url: URL) async throws -> Bool {
        try await CustomSchemeRelay(directory: nil).deliver(url)
    }

    func deliver(_ url: URL) async throws -> Bool {
        try await mailbox.deliver(url)
    }

    private func listener(
        for redirectURI: RedirectURI,
        answers question: RedirectRequest.Question
    ) async throws -> any RedirectListener {
        guard case .custom(let url) = redirectURI.kind, let scheme = redirectURI.customScheme else {
            throw AuthenticationError(
                .redirectUnavailable,
                "The redirect address has no scheme of the program's own, such as com.example.app, so it cannot be received."
            )
        }
        // Who delivers an address looks at the answer's status alone: there is no page to write.
        let inbox = RedirectInbox(responseMode: .query, path: "", template: RedirectPageTemplate()) {
            request,
            url,
            _ in
            RedirectRequest(delivery: request, redirectURI: url, answers: question)
        }
        let path = try await mailbox.newPath(for: scheme)
        var limits = LoopbackServer.Limits()
        limits.maximumBodyLength = CustomSchemeRelay.maximumAddressBytes
        let server: LoopbackServer
        do {
            server = try LoopbackServer.start(unixSocket: path, limits: limits) { await inbox.respond(to: $0) }
        } catch {
            throw AuthenticationError(
                .redirectUnavailable,
                "No socket can be made to receive the redirect: \(error).",
                underlyingError: error
            )
        }
        inbox.open(at: url, port: 0)
        return CustomSchemeRedirectListener(redirectURI: url, path: path, server: server, inbox: inbox)
    }
}

/// A socket and the redirects that have reached it. Dropping it closes and removes the socket.
final class CustomSchemeRedirectListener: RedirectListener {
    let redirectURI: URL
    private let path: String
    private let server: LoopbackServer
    private let inbox: RedirectInbox

    init(redirectURI: URL, path: String, server: LoopbackServer, inbox: RedirectInbox) {
        self.redirectURI = redirectURI
        self.path = path
        self.server = server
        self.inbox = inbox
    }

    deinit {
        inbox.close()
        CustomSchemeRelay.remove(path)
    }

    func receive() async throws -> ReceivedRedirect {
        try await inbox.next()
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        inbox.answer(redirect, with: page)
    }

    func close() async {
        CustomSchemeRelay.remove(path)
        inbox.close()
        await inbox.delivered(within: .seconds(1))
        server.close()
    }
}
