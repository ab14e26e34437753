// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire
import Synchronization
import SystemSupport

/// A question that the browser shows before it opens an address, for example a sign-in at a server that is not configured.
///
/// ```swift
/// launcher.question = BrowserQuestion(
///     title: "Sign in at id.example.com?",
///     sentences: ["Example Notes is about to call an address in your name."],
///     details: [.init(label: "Address", text: "https://mcp.example.com/")]
/// )
/// ```
public struct BrowserQuestion: Hashable, Sendable {
    /// A fact that stands on lines of its own, apart from the program's words, for example an address or a server's name.
    public struct Detail: Hashable, Sendable {
        /// The program's word for it.
        public var label: String

        /// The fact. Control, direction-changing and invisible characters are left out.
        public var text: String

        /// Creates a detail.
        public init(label: String, text: String) {
            self.label = label
            self.text = text
        }
    }

    /// The heading, which is also the tab's name. Plain text, as all others: escaped, and cut after 1,000 characters.
    public var title: String

    /// The paragraphs below it.
    public var sentences: [String]

    /// The facts below the paragraphs.
    public var details: [Detail]

    /// The text of the button that goes on.
    public var agreement = "Continue to sign in"

    /// The text of the button that ends the sign-in.
    public var refusal = "Do not sign in"

    /// Creates a question, with the answers in English.
    public init(title: String, sentences: [String], details: [Detail] = []) {
        self.title = title
        self.sentences = sentences
        self.details = details
    }
}

/// An address on this computer that redirects the person's browser to another address, once.
///
/// Other users can read a browser's command line. Instead of a request with its `state`, hints or an ID token they see this address, which answers only this user. A program that looks at the address before the browser does, as a launcher or a link checker, does not use it up: a browser says that a window navigates.
///
/// A question is answered by the form of its page. A program that only loads addresses, ahead of the person or to check them, answers nothing.
final class StartAddress: Sendable {
    /// On the loopback interface, with a path that cannot be guessed.
    let url: URL
    private let server: LoopbackServer
    /// Settled by the first visit.
    private let visit: Promise<Void>
    /// Settled by the first visit of a browser that says so.
    private let navigation: Promise<Void>
    /// Settled by the answer to the question.
    private let agreement: Promise<Void>

    /// Starts to listen, until this object is released.
    ///
    /// - Parameters:
    ///   - target: The browser's destination, in visible ASCII. It may become known after the answer to the question.
    ///   - question: A question to which the person has to agree first; `nil` for none.
    ///   - sender: The accepted senders.
    /// - Throws: `LoopbackServerError`
    init(
        leadingTo target: Promise<String>,
        asking question: BrowserQuestion? = nil,
        sender: RedirectSender = .current
    ) throws {
        let (path, word) = ("/" + SecureRandom.token(), SecureRandom.token())
        let (visit, navigation, agreement) = (Promise<Void>(), Promise<Void>(), Promise<Void>())
        let state = Mutex((port: UInt16(0), isTaken: false))
        let template = RedirectPageTemplate()
        let refusal = { @Sendable (status: Int) in template.response(RedirectPage(outcome: .refused), status: status) }
        server = try LoopbackServer.start(refuse: refusal) { request in
            let port = state.withLock { $0.port }
            guard RedirectRequest.isAddressed(request.headers, to: port) else { return refusal(400) }
            guard constantTimeEquals(request.target, path) else { return refusal(404) }
            guard request.method == "GET" || question != nil && request.method == "POST" else { return refusal(405) }
            guard Self.isUserNavigation(request.headers), await sender.mayHaveSent(request) else { return refusal(403) }
            if let question {
                guard request.method == "POST" else { return template.response(question, word: word) }
                switch Self.answer(in: request, word: word) {
                case true?: agreement.finish(.success(()))
                case false?:
                    let refused = AuthenticationError(.userCancelled, "The sign-in was refused in the browser.")
                    var response = template.response(
                        RedirectPage(outcome: .failed, message: refused.message),
                        status: 200
                    )
                    response.onDelivery = { _ in
                        agreement.finish(.failure(refused))
                        visit.finish(.failure(refused))
                    }
                    return response
                case nil: return refusal(403)
                }
            }
            let isBrowser = question != nil || request.headers["Sec-Fetch-Mode"] != nil
            let isFree = state.withLock { state in
                defer { state.isTaken = state.isTaken || isBrowser }
                return !state.isTaken
            }
            guard isFree else { return refusal(410) }
            let address: String
            do {
                address = try await target.value()
            } catch {
                let message = (error as? AuthenticationError)?.message ?? "The sign-in was ended."
                return template.response(RedirectPage(outcome: .failed, message: message), status: 200)
            }
            var response =
                question.map { template.response(afterAgreementTo: $0, leadingTo: address) }
                ?? template.redirect(to: address)
            response.onDelivery = { isDelivered in
                if isDelivered { visit.finish(.success(())) }
                guard isBrowser else { return }
                if isDelivered { navigation.finish(.success(())) } else { state.withLock { $0.isTaken = false } }
            }
            return response
        }
        let port = server.port
        state.withLock { $0.port = port }
        // The host is not `localhost`, for which a browser may enforce https.
        guard let url = URL(string: "http://127.0.0.1:\(server.port)\(path)") else {
            throw LoopbackServerError.system(call: "URL", errno: 0)
        }
        self.url = url
        (self.visit, self.navigation, self.agreement) = (visit, navigation, agreement)
    }

    /// The same for a destination that is known.
    convenience init(
        leadingTo target: String,
        asking question: BrowserQuestion? = nil,
        sender: RedirectSender = .current
    ) throws {
        let known = Promise<String>()
        known.finish(.success(target))
        try self.init(leadingTo: known, asking: question, sender: sender)
    }

    /// Returns when the person has agreed to the question.
    ///
    /// - Throws: `.userCancelled` if the person does not agree; `DeadlineExceeded`; `CancellationError`.
    func agreed(within timeout: Duration) async throws {
        try await withDeadline(timeout) { [agreement] in try await agreement.value() }
    }

    /// Returns when the browser was redirected, or after `timeout`. After a visitor that may be none, it waits for the browser
    /// for `patience`.
    ///
    /// - Throws: `.userCancelled` if the person does not agree; `CancellationError`.
    func visited(within timeout: Duration, patience: Duration = .seconds(10)) async throws {
        do {
            try await withDeadline(timeout) { [visit] in try await visit.value() }
            try await withDeadline(patience) { [navigation] in try await navigation.value() }
        } catch is DeadlineExceeded {}
    }

    /// Whether the person agreed; `nil` unless the form of the question's page was sent.
    private static func answer(in request: LoopbackRequest, word: String) -> Bool? {
        let headers = request.headers
        let isFromPage =
            headers.values(of: "Origin").allSatisfy { $0 == "http://\(headers["Host"] ?? "")" }
            && headers.values(of: "Sec-Fetch-Site").allSatisfy { $0 == "same-origin" }
        let items = try? FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self), maximumItems: 2)
        guard isFromPage, let items, items.map(\.0) == ["word", "answer"], constantTimeEquals(items[0].1, word) else {
            return nil
        }
        return ["yes": true, "no": false][items[1].1]
    }

    /// Whether the person or a program of this user opened the address in a window, not a web page, and not ahead of the person.
    private static func isUserNavigation(_ headers: LoopbackHeaders) -> Bool {
        let isAhead = ["Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"].contains { name in
            headers.values(of: name).contains { $0.lowercased().contains("pre") }
        }
        return !isAhead && RedirectRequest.isNavigation(headers)
            && !["cross-site", "same-site"].contains(headers["Sec-Fetch-Site"])
    }
}

extension URL {
    /// The address if a browser may open it: `https`, or `http` on the loopback interface, in text that a browser or a script
    /// cannot misread.
    var addressForBrowser: String? {
        let address = absoluteString
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host()?.lowercased())
        let scheme = scheme?.lowercased()
        guard host()?.isEmpty == false, scheme == "https" || scheme == "http" && isLoopback,
            address.utf8.allSatisfy({ $0.isVisible && !#""<>\^`{|}"#.utf8.contains($0) })
        else { return nil }
        return address
    }

    /// Returns the address of `endpoint` with `items` in its query, for the browser to open.
    ///
    /// - Parameter name: The address's name in the error.
    /// - Throws: `.invalidArgument` if the address is too long or invalid.
    static func forBrowser(_ name: String, at endpoint: String, with items: [(String, String)]) throws -> URL {
        let text = try FormURLEncoded.appending(items, to: endpoint)
        guard text.utf8.count <= 32 * 1024, let url = URL(string: text) else {
            throw AuthenticationError(.invalidArgument, "The \(name) would be too long, or is not an address.")
        }
        return url
    }
}
