// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire
import Synchronization

/// A one-time address on this computer that redirects the person's browser to another address.
///
/// Other users can read a browser's command line. Instead of a request with its `state`, hints or an ID token they see this address, which answers only this user.
final class StartAddress: Sendable {
    /// On the loopback interface, with a path that cannot be guessed.
    let url: URL
    private let server: LoopbackServer
    private let visit: Promise<Void>

    /// Starts to listen, until this object is released.
    ///
    /// - Parameters:
    ///   - target: The browser's destination, in visible ASCII.
    ///   - sender: The accepted senders.
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
            guard Self.isUserNavigation(request.headers), await sender.mayHaveSent(request) else { return refusal(403) }
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
        // The host is not `localhost`, for which a browser may enforce https.
        guard let url = URL(string: "http://127.0.0.1:\(server.port)\(path)") else {
            throw LoopbackServerError.system(call: "URL", errno: 0)
        }
        self.url = url
        self.visit = visit
    }

    /// Returns when the browser was redirected, or after `timeout`.
    ///
    /// - Throws: `CancellationError`
    func visited(within timeout: Duration) async throws {
        do {
            try await withDeadline(timeout) { [visit] in try await visit.value() }
        } catch is DeadlineExceeded {}
    }

    /// Whether the person or a program of this user opened the address in a window, not a web page.
    private static func isUserNavigation(_ headers: LoopbackHeaders) -> Bool {
        RedirectRequest.isNavigation(headers) && !["cross-site", "same-site"].contains(headers["Sec-Fetch-Site"])
    }
}
