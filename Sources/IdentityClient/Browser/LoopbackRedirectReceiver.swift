// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP

/// Receives redirects on the loopback interface, with a small server of its own.
///
/// It listens on loopback addresses only, and hands on what has the right host, path, method and form. Anything else
/// (a favicon, a browser's early connection, another program's probe) is refused and does not end the wait, and so is what
/// another user of the computer sends, but for root and for who started the program with `sudo` or `pkexec`. The
/// browser waits for its page until ``RedirectListener/answer(_:with:)`` says how the sign-in ended, so that the page
/// tells the truth; the code leaves the address bar before the page is shown.
/// - SeeAlso: [RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)
public struct LoopbackRedirectReceiver: RedirectReceiver {
    private let template: RedirectPageTemplate
    private let limits: LoopbackServer.Limits
    private let sender: RedirectSender

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - applicationName: What the page calls the program; `nil` for "the application".
    ///   - texts: What the page says, in the person's language. The default is English.
    public init(applicationName: String? = nil, texts: RedirectPage.Texts = RedirectPage.Texts()) {
        template = RedirectPageTemplate(texts: texts, applicationName: applicationName)
        limits = LoopbackServer.Limits()
        sender = .current
    }

    /// The same with limits and senders of one's own, for tests.
    init(limits: LoopbackServer.Limits, sender: RedirectSender = .current) {
        template = RedirectPageTemplate()
        self.limits = limits
        self.sender = sender
    }

    /// Binds the port and begins to listen.
    ///
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` when the port, or every port of the range, is taken,
    ///   and for an address that is not on the loopback interface; `CancellationError`.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try listener(for: redirectURI, responseMode: responseMode, answers: .signIn)
    }

    /// Binds the port and begins to listen for the return from a sign-out page.
    ///
    /// - Throws: As ``start(for:responseMode:)``.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try listener(for: redirectURI, responseMode: .query, answers: .signOut)
    }

    private func listener(
        for redirectURI: RedirectURI,
        responseMode: ResponseMode,
        answers question: RedirectRequest.Question
    ) throws -> any RedirectListener {
        guard case .loopback(let requested, let ports, let path) = redirectURI.kind else {
            throw AuthenticationError(
                .redirectUnavailable,
                """
                The redirect address is not on the loopback interface, so nothing can listen there. Use a \
                receiver for its kind (CustomSchemeRedirectReceiver), or sign in in two steps: prepare the request, show its address, and complete it with the address that the browser \
                was redirected to.
                """
            )
        }
        let host = requested ?? .localhost
        let inbox = RedirectInbox(responseMode: responseMode, path: path, template: template, sender: sender) {
            request,
            url,
            port in
            RedirectRequest(
                request,
                redirectURI: url,
                port: port,
                path: path,
                responseMode: responseMode,
                answers: question
            )
        }
        let httpsRedirects = HTTPSRedirects()
        let server = try listen(on: host, ports: ports, inbox: inbox, httpsRedirects: httpsRedirects)
        let text = "http://\(host.rawValue):\(server.port)\(path)"
        guard let url = URL(string: text), url.absoluteString == text else {
            throw AuthenticationError(.redirectUnavailable, "\(text) is not a valid address.")
        }
        inbox.open(at: url, port: server.port)
        return LoopbackRedirectListener(redirectURI: url, server: server, inbox: inbox, httpsRedirects: httpsRedirects)
    }

    private func listen(
        on host: RedirectURI.LoopbackHost,
        ports: ClosedRange<UInt16>?,
        inbox: RedirectInbox,
        httpsRedirects: HTTPSRedirects
    ) throws -> LoopbackServer {
        let hosts: [LoopbackServer.Host] =
            switch host {
            case .localhost: [.ipv4, .ipv6]
            case .ipv4: [.ipv4]
            case .ipv6: [.ipv6]
            }
        for port in ports ?? 0...0 {
            try Task.checkCancellation()
            do {
                // The server keeps the inbox, never the listener: a listener that is dropped closes the server.
                return try LoopbackServer.start(
                    hosts: hosts,
                    port: port,
                    limits: limits,
                    refuse: { inbox.refusal($0) },
                    onTLS: { httpsRedirects.note() },
                    respond: { await inbox.respond(to: $0) }
                )
            } catch LoopbackServerError.portInUse, LoopbackServerError.portNotPermitted {
                continue
            } catch {
                throw AuthenticationError(
                    .redirectUnavailable,
                    "Cannot listen on \(host.rawValue) for the redirect: \(error).",
                    underlyingError: error
                )
            }
        }
        throw AuthenticationError(.redirectUnavailable, Self.occupied(ports))
    }

    private static func occupied(_ ports: ClosedRange<UInt16>?) -> String {
        guard let ports else { return "No port is free on the loopback interface." }
        guard ports.count > 1 else {
            return """
                Port \(ports.lowerBound), needed for sign-in, is used by another program or reserved by the system. \
                Close that program, or register and configure a range of ports.
                """
        }
        return """
            All ports from \(ports.lowerBound) to \(ports.upperBound), one of which is needed for sign-in, are used by \
            other programs or reserved by the system. Close one of them, or register and configure other ports.
            """
    }
}

/// A server and the redirects that have reached it. Dropping it closes the server.
final class LoopbackRedirectListener: RedirectListener {
    let redirectURI: URL
    /// Why the redirect may not arrive.
    let visits: HTTPSRedirects
    private let server: LoopbackServer
    private let inbox: RedirectInbox

    init(redirectURI: URL, server: LoopbackServer, inbox: RedirectInbox, httpsRedirects: HTTPSRedirects) {
        self.redirectURI = redirectURI
        visits = httpsRedirects
        self.server = server
        self.inbox = inbox
    }

    deinit {
        inbox.close()
    }

    func receive() async throws -> ReceivedRedirect {
        try await inbox.next()
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        inbox.answer(redirect, with: page)
    }

    func close() async {
        inbox.close()
        await inbox.delivered(within: .seconds(1))
        server.close()
    }
}
