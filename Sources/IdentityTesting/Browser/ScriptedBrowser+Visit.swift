// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import IdentityClient
import OAuthWire
import Synchronization
import SystemSupport

extension ScriptedBrowser {
    struct Step {
        var method = "GET"
        var url: String
        var form: [(String, String)] = []
        /// Whether the person refuses with this step.
        var refuses = false
    }

    /// Goes to `url`, acts on every page, and returns the last page.
    ///
    /// - Throws: `AuthenticationError` of the family `.network` if an address cannot be reached, `CancellationError`.
    @discardableResult
    public func visit(_ url: URL) async throws -> Page { try await visit(url, Promise()) }

    /// The same; `opening` is finished when the browser goes back to the program.
    func visit(_ url: URL, _ opening: Promise<Void>) async throws -> Page {
        var step = Step(url: url.absoluteString)
        var lastPage: Page?
        var hasRefused = false
        for _ in 0..<20 {
            hasRefused = hasRefused || step.refuses
            if leavesProvider(step, after: lastPage) || WebAddress(step.url) == nil {
                try checkThatAPersonCouldRefuse(step, hasRefused)
                return try await goBack(step, opening) ?? lastPage ?? Page(address: step.url, status: 0, body: "")
            }
            let response = try await fetch(step)
            if (300..<400).contains(response.status), let location = Self.header("location", response) {
                lastPage = lastPage ?? Page(address: "", status: response.status, body: "")
                step = Step(url: location)
                continue
            }
            var page = Page(
                address: String(step.url.prefix { $0 != "?" }),
                status: response.status,
                body: String(decoding: response.body, as: UTF8.self)
            )
            page.isRepeated = lastPage?.body == page.body
            state.withLock { [page] in $0.pages.append(page) }
            lastPage = page
            guard !page.isRepeated, let next = nextStep(on: page) else { return page }
            step = next
        }
        throw AuthenticationError(.connectionFailed, "The browser was sent in circles.")
    }

    /// Throws where a person who refuses consent would be signed in, because no page asked for it.
    private func checkThatAPersonCouldRefuse(_ step: Step, _ hasRefused: Bool) throws {
        guard !hasRefused, behaviour == .deny,
            (step.form + Self.query(of: step.url)).contains(where: { $0.0 == "code" })
        else { return }
        throw AuthenticationError(
            .configuration,
            """
            The person refuses consent (Behaviour.deny), and no page of the provider asked for it. Name the scopes that need \
            consent in the provider's settings (consentScopes), or use Behaviour.cancel.
            """
        )
    }

    /// Returns whether the address belongs to the program, that is, lies outside the provider visited so far.
    private func leavesProvider(_ step: Step, after page: Page?) -> Bool {
        guard page != nil, let address = WebAddress(step.url) else { return false }
        if let provider, provider.isReached(by: address.origin) { return false }
        return Set((step.form + Self.query(of: step.url)).map(\.0)).isDisjoint(with: ["code", "error", "state"])
            == false
    }

    /// Returns the person's next step on a page, or `nil` if there is nothing to do.
    private func nextStep(on page: Page) -> Step? {
        guard let form = HTMLForm(page.body) else { return nil }
        let (person, behaviour) = state.withLock { ($0.person, $0.behaviour) }
        var items = form.fields.map { ($0.name, $0.value) }
        if form.submitsItself { return Step(method: form.method, url: form.action, form: items) }
        guard let button = behaviour.buttons.first(where: form.buttons.contains) else { return nil }
        for index in items.indices {
            if items[index].0 == "username" { items[index].1 = person.username }
            if items[index].0 == "password" { items[index].1 = person.password }
            if items[index].0 == "name" { items[index].1 = person.name }
            if items[index].0 == "second_factor" { items[index].1 = provider?.settings.secondFactorCode ?? "" }
        }
        let refuses = button == "deny"
        return Step(method: form.method, url: form.action, form: items + [("action", button)], refuses: refuses)
    }

    private func fetch(_ step: Step) async throws -> ProviderResponse {
        guard let address = WebAddress(step.url) else { throw AuthenticationError(.invalidArgument, "Not an address.") }
        let cookies = state.withLock { $0.cookies[address.environment] ?? [:] }
        var headers = [("Host", address.environment), ("Accept", "text/html")]
        if !cookies.isEmpty {
            headers.append(("Cookie", cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")))
        }
        let body = step.method == "POST" ? Array(FormURLEncoded.encode(step.form).utf8) : []
        if step.method == "POST" { headers.append(("Content-Type", FormURLEncoded.contentType)) }
        let target = address.target

        let response: ProviderResponse
        if let provider, address.scheme == "https" {
            response = try await inProcess(provider, step.method, address.origin, target, headers, body)
        } else {
            response = try await overHTTP(step.method, step.url, target, headers, body)
        }
        remember(response, for: address.environment)
        return response
    }

    private func inProcess(
        _ provider: TestIdentityProvider,
        _ method: String,
        _ origin: String,
        _ target: String,
        _ headers: [(String, String)],
        _ body: [UInt8]
    ) async throws -> ProviderResponse {
        guard provider.isReached(by: origin) else {
            throw AuthenticationError(.nameNotResolved, "The browser cannot find \(origin).")
        }
        let request = ProviderRequest(method: method, origin: origin, target: target, headers: headers, body: body)
        guard case .response(let response) = try await provider.answer(request, clock: provider.clock) else {
            throw AuthenticationError(.connectionFailed, "The connection ended before the answer did.")
        }
        return response
    }

    func overHTTP(
        _ method: String,
        _ url: String,
        _ target: String,
        _ headers: [(String, String)],
        _ body: [UInt8],
        connected: @escaping @Sendable () -> Void = {}
    ) async throws -> ProviderResponse {
        guard let address = LoopbackAddress(url) else {
            throw AuthenticationError(.invalidArgument, "A scripted browser does not leave this machine.")
        }
        let fields =
            headers + [("Connection", "close")] + (body.isEmpty ? [] : [("Content-Length", String(body.count))])
        let lines = ["\(method) \(target) HTTP/1.1"] + fields.map { "\($0.0): \($0.1)" }
        let head = lines.joined(separator: "\r\n") + "\r\n\r\n"
        return try await LoopbackVisit.send(head, body: body, to: address, connected: connected)
    }

    private func remember(_ response: ProviderResponse, for host: String) {
        for (name, value) in response.headers where name.lowercased() == "set-cookie" {
            let pair = value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            state.withLock { $0.cookies[host, default: [:]][String(pair[0])] = pair[1].isEmpty ? nil : String(pair[1]) }
        }
    }

    static func header(_ name: String, _ response: ProviderResponse) -> String? {
        response.headers.first { $0.0.lowercased() == name }?.1
    }

    static func query(of url: String) -> [(String, String)] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return (try? FormURLEncoded.decode(String(url[url.index(after: mark)...]))) ?? []  // unreadable: no items
    }
}
