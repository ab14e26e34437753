// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import LoopbackHTTP
import Synchronization

/// Receives redirects on the loopback interface, with its own small server.
///
/// It listens only on loopback addresses, and passes on requests with the right host, path, method and form. It refuses
/// all other requests (a favicon, a browser's early connection, another program's probe), and requests of other users
/// except root and the user of `sudo` or `pkexec`; a refused request does not end the wait. The browser waits for its
/// page until ``RedirectListener/answer(_:with:)`` gives the outcome, so that the page shows the true outcome; the code
/// leaves the address bar before the page is shown.
///
/// ```swift
/// configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "Example")
/// ```
/// - SeeAlso: [RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)
public struct LoopbackRedirectReceiver: RedirectReceiver {
    private let template: RedirectPageTemplate
    private let limits: LoopbackServer.Limits
    private let sender: RedirectSender

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - applicationName: The program's name on the page; `nil` for "the application".
    ///   - texts: The page's texts, in the person's language. The default is English.
    public init(applicationName: String? = nil, texts: RedirectPage.Texts = RedirectPage.Texts()) {
        template = RedirectPageTemplate(texts: texts, applicationName: applicationName)
        limits = LoopbackServer.Limits()
        sender = .current
    }

    /// Creates a receiver that sends the browser to pages of the program when a sign-in has ended.
    ///
    /// The addresses get nothing of the answer: no code, no `state`, no error. If the provider's page limits where its forms
    /// may lead (`form-action`), some browsers show an error in place of the program's page; the sign-in has its outcome all
    /// the same. A sign-out ends with the library's page.
    ///
    /// ```swift
    /// configuration.redirectReceiver = try LoopbackRedirectReceiver(successURL: signedInPage)
    /// ```
    /// - Parameters:
    ///   - successURL: The page after a sign-in that succeeded: `https`, or `http` on the loopback interface.
    ///   - failureURL: The page after a sign-in that failed; `nil` for the library's page, which says what went wrong.
    ///   - applicationName: The program's name on the library's pages; `nil` for "the application".
    ///   - texts: The texts of the library's pages. The default is English.
    /// - Throws: `.invalidArgument` for any other address, and for one with a user name or above 8 KiB.
    public init(
        successURL: URL,
        failureURL: URL? = nil,
        applicationName: String? = nil,
        texts: RedirectPage.Texts = RedirectPage.Texts()
    ) throws {
        var template = RedirectPageTemplate(texts: texts, applicationName: applicationName)
        template.addresses[.succeeded] = try Self.checked(successURL)
        template.addresses[.failed] = try failureURL.map(Self.checked)
        self.template = template
        limits = LoopbackServer.Limits()
        sender = .current
    }

    private static func checked(_ page: URL) throws -> String {
        guard let address = page.addressForBrowser, page.user() == nil, page.password() == nil,
            address.utf8.count <= 8192
        else {
            throw AuthenticationError(
                .invalidArgument,
                "A page at the end of a sign-in has an https address, or an http address on the loopback interface."
            )
        }
        return address
    }

    /// The same with custom limits and senders, for tests.
    init(limits: LoopbackServer.Limits, sender: RedirectSender = .current) {
        template = RedirectPageTemplate()
        self.limits = limits
        self.sender = sender
    }

    /// Binds the port and starts to listen.
    ///
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` if the port, or every port of the range, is in use, and
    ///   for an address outside the loopback interface; `CancellationError`.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try listener(for: redirectURI, responseMode: responseMode, answers: .signIn)
    }

    /// Binds the port and starts to listen for the return from a sign-out page.
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
        let queue = RedirectQueue(responseMode: responseMode, path: path, template: template, sender: sender) {
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
        let server = try listen(on: host, ports: ports, queue: queue, httpsRedirects: httpsRedirects)
        let text = "http://\(host.rawValue):\(server.port)\(path)"
        guard let url = URL(string: text), url.absoluteString == text else {
            throw AuthenticationError(.redirectUnavailable, "\(text) is not a valid address.")
        }
        queue.open(at: url, port: server.port)
        return LoopbackRedirectListener(redirectURI: url, server: server, queue: queue, httpsRedirects: httpsRedirects)
    }

    private func listen(
        on host: RedirectURI.LoopbackHost,
        ports: ClosedRange<UInt16>?,
        queue: RedirectQueue,
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
                // The server keeps the queue, never the listener, because releasing the listener closes the server.
                return try LoopbackServer.start(
                    hosts: hosts,
                    port: port,
                    limits: limits,
                    refuse: { queue.refusal($0) },
                    onTLS: { httpsRedirects.note() },
                    respond: { await queue.respond(to: $0) }
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

/// A server and its received redirects. Releasing the listener closes the server.
final class LoopbackRedirectListener: RedirectListener {
    let redirectURI: URL
    /// The https requests, which explain a missing redirect.
    let visits: HTTPSRedirects
    private let server: LoopbackServer
    private let queue: RedirectQueue

    init(redirectURI: URL, server: LoopbackServer, queue: RedirectQueue, httpsRedirects: HTTPSRedirects) {
        self.redirectURI = redirectURI
        visits = httpsRedirects
        self.server = server
        self.queue = queue
    }

    deinit {
        queue.close()
    }

    func receive() async throws -> ReceivedRedirect {
        try await queue.next()
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        queue.answer(redirect, with: page)
    }

    func close() async {
        queue.close()
        // A slow browser finds its page; a browser that is gone ends the wait, or never came for the page.
        await queue.delivered(within: .seconds(5))
        server.close()
    }
}

/// Records https requests to the redirect port, which does not support https.
///
/// A browser sends them if the host once required https (HSTS, which covers all ports), or if its settings enforce
/// https. The person then sees an error page, and the program would wait in silence.
final class HTTPSRedirects: Sendable {
    private struct State {
        var isSeen = false
        var report: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isSeen: Bool { state.withLock(\.isSeen) }

    /// Records an https request.
    func note() {
        let report = state.withLock { state in
            state.isSeen = true
            return state.report.take()
        }
        report?()
    }

    /// Calls `report` at the first https request, also if it has already come.
    func report(_ report: @escaping @Sendable () -> Void) {
        let isSeen = state.withLock { state in
            if !state.isSeen { state.report = report }
            return state.isSeen
        }
        if isSeen { report() }
    }

    /// The problem, and the remedies.
    ///
    /// - SeeAlso: [RFC 6797 §8.1.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1.1): no IP address is a known HSTS host.
    static let explanation = """
        The browser, it seems, came back by https to an address that is http: it keeps to https for that host (HSTS that \
        another program set for localhost, or an HTTPS-only mode). Use http://127.0.0.1 in place of localhost where the \
        provider allows it, or take the host out of that mode.
        """

    /// The same, with another remedy for a sign-in.
    static let signInExplanation =
        "\(explanation) Or sign in in two steps: then the browser's final address is accepted, https or not."
}

extension RedirectListener {
    /// The https requests to the listener's port, if it has one.
    var httpsRedirects: HTTPSRedirects? { (self as? LoopbackRedirectListener)?.visits }
}
