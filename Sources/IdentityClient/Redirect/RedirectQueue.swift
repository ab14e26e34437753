// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import Synchronization
import SystemSupport

/// The received redirects, and the browsers that wait for their page.
final class RedirectQueue: Sendable {
    private typealias Receiver = CheckedContinuation<ReceivedRedirect, any Error>

    /// A browser that waits for its page.
    private struct Browser {
        let url: URL
        let continuation: CheckedContinuation<LoopbackResponse, Never>
        /// The way in which the redirect came, which determines the way of the page.
        let arrival: ResponseMode

        func resume(returning response: LoopbackResponse) {
            continuation.resume(returning: response)
        }
    }

    private struct State {
        var address: (url: URL, port: UInt16)?
        var lastID: UInt64 = 0
        var isClosed = false
        /// Received redirects that were not yet passed on.
        var waiting: [ReceivedRedirect] = []
        /// Callers of `next()`, first come first served.
        var receivers: [(id: UInt64, continuation: Receiver)] = []
        /// Requests that wait for their answer.
        var browsers: [UInt64: Browser] = [:]
        /// The page at the address to which the browser is redirected.
        var donePage: RedirectPage?
        /// The redirect that was used, and its page: a browser that fetched it ahead, or loads it again, gets the same.
        var used: (url: String, page: RedirectPage)?

        func page(again url: URL) -> RedirectPage? {
            let text = url.absoluteString
            return used.flatMap { text == $0.url || text.hasPrefix("\($0.url)&") ? $0.page : nil }
        }

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }

        /// Passes a redirect to a receiver or keeps it for the next, if there is room.
        mutating func take(
            _ redirect: ReceivedRedirect,
            from browser: Browser,
            unless isCancelled: Bool
        ) -> (isTaken: Bool, receiver: Receiver?) {
            guard !isClosed, !isCancelled, waiting.count < RedirectQueue.maximumWaiting else { return (false, nil) }
            browsers[redirect.id] = browser
            guard receivers.isEmpty else { return (true, receivers.removeFirst().continuation) }
            waiting.append(redirect)
            return (true, nil)
        }
    }

    /// More than a person's browser ever needs; a flood gets "try again".
    private static let maximumWaiting = 16

    private let path: String
    private let responseMode: ResponseMode
    private let decide: @Sendable (LoopbackRequest, URL, UInt16) -> RedirectRequest
    private let template: RedirectPageTemplate
    private let sender: RedirectSender
    private let deliveries = PageDeliveries()
    private let state = Mutex(State())

    /// - Parameters:
    ///   - responseMode: The requested response mode.
    ///   - path: The path of the final page, so that the code leaves the address bar.
    ///   - sender: The accepted senders.
    ///   - decide: Classifies a request, given the redirect address and its port.
    init(
        responseMode: ResponseMode,
        path: String,
        template: RedirectPageTemplate,
        sender: RedirectSender = .current,
        decide: @escaping @Sendable (LoopbackRequest, URL, UInt16) -> RedirectRequest
    ) {
        self.path = path
        self.responseMode = responseMode
        self.template = template
        self.sender = sender
        self.decide = decide
    }

    /// Starts to accept redirects; before, the port is unknown.
    func open(at url: URL, port: UInt16) {
        state.withLock { $0.address = (url, port) }
    }

    // MARK: The browser's side

    func respond(to request: LoopbackRequest) async -> LoopbackResponse {
        guard let (url, port) = state.withLock({ $0.address }) else { return refusal(503) }
        switch decide(request, url, port) {
        case .refused(let status): return refusal(status)
        case .donePage: return await isFromAnotherUser(request) ? refusal(403) : doneResponse()
        case .redirect(let url, let arrival):
            return await isFromAnotherUser(request) ? refusal(403) : await hold(url, arrival)
        }
    }

    private func isFromAnotherUser(_ request: LoopbackRequest) async -> Bool {
        await !sender.mayHaveSent(request)
    }

    /// Keeps the request until it is answered, its client is gone, or the queue is closed.
    private func hold(_ url: URL, _ arrival: ResponseMode) async -> LoopbackResponse {
        let (id, page) = state.withLock { ($0.nextID(), $0.page(again: url)) }
        if let page { return response(to: id, by: arrival, with: page) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let browser = Browser(url: url, continuation: continuation, arrival: arrival)
                let redirect = ReceivedRedirect(url: url, id: id)
                let (isTaken, receiver) = state.withLock { $0.take(redirect, from: browser, unless: Task.isCancelled) }
                if !isTaken { browser.resume(returning: refusal(503)) }
                receiver?.resume(returning: redirect)
            }
        } onCancel: {
            state.withLock { $0.browsers.removeValue(forKey: id) }?.resume(returning: .dropped)
        }
    }

    private func doneResponse() -> LoopbackResponse {
        guard let page = state.withLock({ $0.donePage }) else { return refusal(404) }
        var response = template.response(page, status: 200)
        response.onDelivery = { [deliveries] isDelivered in
            if isDelivered { deliveries.endAllRedirected() }
        }
        return response
    }

    /// The page for a request that is not the redirect, or is malformed.
    func refusal(_ status: Int) -> LoopbackResponse {
        var response = template.response(RedirectPage(outcome: .refused), status: status)
        if status == 405 { response.headers["Allow"] = responseMode.accepted.map(\.method).joined(separator: ", ") }
        return response
    }

    // MARK: The program's side

    func next() async throws -> ReceivedRedirect {
        let id = state.withLock { $0.nextID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { receiver in
                let result = state.withLock { state -> Result<ReceivedRedirect, any Error>? in
                    guard !state.isClosed, !Task.isCancelled else { return .failure(CancellationError()) }
                    guard state.waiting.isEmpty else { return .success(state.waiting.removeFirst()) }
                    state.receivers.append((id, receiver))
                    return nil
                }
                if let result { receiver.resume(with: result) }
            }
        } onCancel: {
            let receiver = state.withLock { state in
                state.receivers.firstIndex { $0.id == id }.map { state.receivers.remove(at: $0).continuation }
            }
            receiver?.resume(throwing: CancellationError())
        }
    }

    /// Answers the browser if it still waits.
    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) {
        let browser = state.withLock { state -> Browser? in
            guard let browser = state.browsers.removeValue(forKey: redirect.id) else { return nil }
            if page.outcome != .refused {
                deliveries.begin([redirect.id])
                state.used = (redirect.url.absoluteString, page)
                if browser.arrival == .query { state.donePage = page }
            }
            return browser
        }
        guard let browser else { return }
        browser.resume(returning: response(to: redirect.id, by: browser.arrival, with: page))
    }

    private func response(to id: UInt64, by arrival: ResponseMode, with page: RedirectPage) -> LoopbackResponse {
        guard page.outcome != .refused else { return template.response(page, status: 400) }
        if let address = template.addresses[page.outcome] {
            var response = LoopbackResponse(status: 303, headers: RedirectPageTemplate.headers, closesConnection: true)
            response.headers["Location"] = address
            response.onDelivery = { [deliveries] _ in deliveries.end(id) }
            return response
        }
        guard arrival == .query else {
            var response = template.response(page, status: 200)
            response.onDelivery = { [deliveries] _ in deliveries.end(id) }
            return response
        }
        // 303 instead of 302 or 307, so that after any method the browser gets the page, at an address without the
        // code.
        var response = LoopbackResponse(status: 303, headers: RedirectPageTemplate.headers, closesConnection: true)
        response.headers["Location"] = (path.isEmpty ? "/" : path) + "?done"
        response.onDelivery = { [deliveries] isDelivered in
            if isDelivered { deliveries.redirect(id) } else { deliveries.end(id) }
        }
        return response
    }

    /// Accepts no more redirects. Callers of `next()` get `CancellationError`; waiting browsers get a plain page.
    func close() {
        let (receivers, browsers, known) = state.withLock { state in
            state.isClosed = true
            defer { (state.receivers, state.waiting, state.browsers) = ([], [], [:]) }
            deliveries.begin(state.browsers.keys)
            return (state.receivers, state.browsers, state)
        }
        for receiver in receivers { receiver.continuation.resume(throwing: CancellationError()) }
        for (id, browser) in browsers {
            if let page = known.page(again: browser.url) {
                browser.resume(returning: response(to: id, by: browser.arrival, with: page))
                continue
            }
            var response = template.endedResponse()
            response.onDelivery = { [deliveries] _ in deliveries.end(id) }
            browser.resume(returning: response)
        }
    }

    /// Returns when the answers have reached the browser, after `timeout`, or when the task is cancelled.
    func delivered(within timeout: Duration) async {
        await deliveries.ended(within: timeout)
    }
}

/// The program's pages that the browser does not have yet.
final class PageDeliveries: Sendable {
    private struct State {
        var underway: Set<UInt64> = []
        /// The pages for which the browser was redirected.
        var redirected: Set<UInt64> = []
        /// Finishes when all deliveries have ended, if a caller waits.
        var end: Promise<Void>?
    }

    private let state = Mutex(State())

    func begin(_ pages: some Sequence<UInt64>) {
        state.withLock { $0.underway.formUnion(pages) }
    }

    /// The browser was redirected to that page.
    func redirect(_ page: UInt64) {
        state.withLock { _ = $0.redirected.insert(page) }
    }

    /// The browser has that page, or is gone.
    func end(_ page: UInt64) {
        end([page])
    }

    /// The browser has fetched the page to which it was redirected.
    func endAllRedirected() {
        end(state.withLock { $0.redirected })
    }

    private func end(_ pages: Set<UInt64>) {
        let end = state.withLock { state -> Promise<Void>? in
            state.underway.subtract(pages)
            guard state.underway.isEmpty else { return nil }
            defer { state.end = nil }
            return state.end
        }
        end?.finish(.success(()))
    }

    /// Returns when all deliveries have ended, after `timeout`, or when the task is cancelled.
    func ended(within timeout: Duration) async {
        let end = state.withLock { state -> Promise<Void>? in
            guard !state.underway.isEmpty else { return nil }
            let end = state.end ?? Promise()
            state.end = end
            return end
        }
        guard let end else { return }
        // After a time-out or a cancellation the caller goes on.
        try? await withDeadline(timeout) { try await end.value() }
    }
}

/// The users whose programs may send a redirect: this user, root, and the user who became this user for the program.
///
/// If the address of a sign-in becomes known (a custom launcher may put it into a command line), another user could finish that sign-in with another account, and send the answer to our port: the person would work in a stranger's account ([RFC 6749 §10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
struct RedirectSender: Sendable {
    private static let executor = QueueExecutor("identity-client.redirect-sender")

    let users: Set<UInt32>

    static var current: RedirectSender {
        RedirectSender(user: SystemCall.effectiveUser, variable: SystemCall.environment)
    }

    init(users: Set<UInt32>) {
        self.users = users
    }

    /// The user who became `user` by `sudo` or `pkexec` has a separate browser.
    init(user: UInt32, variable: (String) -> String?) {
        let invokers = ["SUDO_UID", "PKEXEC_UID"].compactMap { variable($0).flatMap(UInt32.init) }
        self.init(users: Set([user, 0] + invokers))
    }

    /// Asks the kernel whose program is at the other end, which takes milliseconds.
    func mayHaveSent(_ request: LoopbackRequest) async -> Bool {
        guard let peer = request.peer else { return true }
        let owner = try? await Self.executor.run { peer.owner() }  // cancelled: the connection is gone
        return mayBe(owner ?? .unknown)
    }

    /// An unknown owner (a browser outside this virtual machine) is accepted.
    func mayBe(_ owner: LoopbackPeer.Owner) -> Bool {
        switch owner {
        case .user(let user): users.contains(user)
        case .gone: false
        case .unknown: true
        }
    }
}
