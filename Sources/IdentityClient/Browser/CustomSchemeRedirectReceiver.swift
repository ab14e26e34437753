// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import LoopbackHTTP

/// Receives redirects to the program's own scheme, `msauth.com.example.app://auth` for example.
///
/// For such an address the desktop starts a program, which passes the address to the waiting program over a socket in
/// the user's runtime directory, to which no other user can connect. `identityctl register-scheme` installs such a
/// program; a program that is registered itself calls
/// ``deliver(_:)``. A delivered address ends only the wait with the same address and `state`.
///
/// Prefer the loopback interface if the provider allows it: another program of the user can take a scheme over.
///
/// ```swift
/// configuration.redirectURI = try .custom(redirectURL)  // com.example.app:/signed-in
/// configuration.redirectReceiver = CustomSchemeRedirectReceiver()
/// ```
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

    /// Starts to listen.
    ///
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` if the address has no custom scheme, or no socket can
    ///   be created; `AuthenticationError(.invalidArgument, …)` for a form post, which such an address cannot receive;
    ///   `CancellationError`.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        guard responseMode == .query else {
            throw AuthenticationError(
                .invalidArgument,
                "A redirect address with a custom scheme gets its answer in the query: set the response mode to query."
            )
        }
        return try await listener(for: redirectURI, answers: .signIn)
    }

    /// Starts to listen for the return from a sign-out page.
    ///
    /// - Throws: As ``start(for:responseMode:)``.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await listener(for: redirectURI, answers: .signOut)
    }

    /// Passes an address that this process was opened with to this user's waiting program.
    ///
    /// Pass only an address from the desktop or the toolkit. The call lasts until the waiting program has finished the
    /// sign-in, 60 s at most.
    ///
    /// - Returns: Whether a program accepted the address; `false` if none waits for it.
    /// - Throws: `AuthenticationError.configuration` if the address has no custom scheme, or is longer than 16 KiB;
    ///   `.cache` if the runtime directory is not safe; `CancellationError`.
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
        // The delivering program reads only the answer's status, so there is no page to write.
        let queue = RedirectQueue(responseMode: .query, path: "", template: RedirectPageTemplate()) {
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
            server = try LoopbackServer.start(unixSocket: path, limits: limits) { await queue.respond(to: $0) }
        } catch {
            throw AuthenticationError(
                .redirectUnavailable,
                "No socket can be made to receive the redirect: \(error).",
                underlyingError: error
            )
        }
        queue.open(at: url, port: 0)
        return CustomSchemeRedirectListener(redirectURI: url, path: path, server: server, queue: queue)
    }
}

/// A socket and its received redirects. Releasing the listener closes and removes the socket.
final class CustomSchemeRedirectListener: RedirectListener {
    let redirectURI: URL
    private let path: String
    private let server: LoopbackServer
    private let queue: RedirectQueue

    init(redirectURI: URL, path: String, server: LoopbackServer, queue: RedirectQueue) {
        self.redirectURI = redirectURI
        self.path = path
        self.server = server
        self.queue = queue
    }

    deinit {
        queue.close()
        CustomSchemeRelay.remove(path)
    }

    func receive() async throws -> ReceivedRedirect {
        try await queue.next()
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        queue.answer(redirect, with: page)
    }

    func close() async {
        CustomSchemeRelay.remove(path)
        queue.close()
        await queue.delivered(within: .seconds(1))
        server.close()
    }
}
