// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire
import Synchronization

/// An address on this computer that sends the person's browser on to another one, once.
///
/// A browser gets an address in its command line, which other users can read. In place of a request with its `state`, its hints
/// or an ID token they see this address there, which answers none of them.
final class StartAddress: Sendable {
    /// On the loopback interface, with a path that cannot be guessed.
    let url: URL
    private let server: LoopbackServer
    private let visit: Promise<Void>

    /// Begins to listen; it ends when this object does.
    ///
    /// - Parameters:
    ///   - target: Where the browser is sent, in visible ASCII.
    ///   - sender: Whose programs are sent there.
    /// - Throws: `LoopbackServerError`
    init(leadingTo target: String, sender: RedirectSender = .current) throws {
        let path = "/" + SecureRandom.token()
        let visit = Promise<Void>()
        let isTaken = Mutex(false)
        let template = RedirectPageTemplate()
        let refusal = { @Sendable (status: Int) in template.response(RedirectPage(outcome: .refused), status: status) }
        server = try LoopbackServer.start(refuse: refusal) { request in
            guard constantTimeEquals(request.target, path) else { return refusal(404) }
            guard request.method == "GET" else { return refusal(405) }
            guard Self.isPersons(request.headers), await sender.mayHaveSent(request) else { return refusal(403) }
            guard
                isTaken.withLock({ isTaken in
                    defer { isTaken = true }
                    return !isTaken
                })
            else { return refusal(410) }
            var response = LoopbackResponse(status: 302, headers: RedirectPageTemplate.headers, closesConnection: true)
            response.headers["Location"] = target
            response.onDelivery = { isDelivered in
                if isDelivered { visit.finish(.success(())) } else { isTaken.withLock { $0 = false } }
            }
            return response
        }
        // Its name is no `localhost`, for which a browser may have been told to use https alone.
        guard let url = URL(string: "http://127.0.0.1:\(server.port)\(path)") else {
            throw LoopbackServerError.system(call: "URL", errno: 0)
        }
        self.url = url
        self.visit = visit
    }

    /// Returns when the browser was sent on, or after `timeout`.
    ///
    /// - Throws: `CancellationError`
    func visited(within timeout: Duration) async throws {
        do {
            try await withDeadline(timeout) { [visit] in try await visit.value() }
        } catch is DeadlineExceeded {}
    }

    /// Whether the person, or a program of theirs, opened the address in a window, and no web page did.
    private static func isPersons(_ headers: LoopbackHeaders) -> Bool {
        RedirectRequest.isNavigation(headers) && !["cross-site", "same-site"].contains(headers["Sec-Fetch-Site"])
    }
}
