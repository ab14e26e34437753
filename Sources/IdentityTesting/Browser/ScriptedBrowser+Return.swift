// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Synchronization
import SystemSupport

// The way back to the program, and what goes wrong on it.
extension ScriptedBrowser {
    /// Delivers the redirect and returns the page with which the program answers; `nil` if the browser stops here.
    ///
    /// - Parameter opening: Finished as soon as the program is reached: it may answer only when it has the tokens.
    func goBack(_ step: Step, _ opening: Promise<Void>) async throws -> Page? {
        let base = String(step.url.prefix { $0 != "?" })
        let isPosted = step.method == "POST"
        let original = isPosted ? step.form : Self.query(of: step.url)
        let (redirectFaults, follows) = state.withLock { ($0.redirectFaults, $0.followsRedirects) }

        var items = original
        for fault in redirectFaults {
            switch fault.kind {
            case .change(let name, let value): items = Self.replacing(name, with: value, in: items)
            case .repeatItem(let name): items += items.filter { $0.0 == name }
            default: break
            }
        }
        let whole = try FormURLEncoded.appending(items, to: base)
        if let url = URL(string: whole) {
            let waiter = state.withLock { state in
                state.redirects.append(url)
                return state.redirectWaiter
            }
            waiter.finish(.success(url))
        }
        guard follows, receiver != nil || LoopbackAddress(base) != nil else { return nil }
        checkListening(at: base, opening)
        for fault in redirectFaults {
            switch fault.kind {
            case .strayRequest(let path): try await askForStray(path, base: base)
            case .forgedFirst(let name, let value):
                _ = try await deliver(Self.replacing(name, with: value, in: items), to: base, isPosted, opening)
            default: break
            }
        }
        let page = try await deliver(items, to: base, isPosted, opening)
        let again = redirectFaults.contains { if case .twice = $0.kind { true } else { false } }
        if again { _ = try? await deliver(items, to: base, isPosted, opening) }  // the listener may have gone by now
        return page
    }

    /// Without a port, whether anybody listens is known beforehand.
    private func checkListening(at base: String, _ opening: Promise<Void>) {
        guard let receiver, let url = URL(string: base) else { return }
        guard !receiver.isListening(for: url) else {
            opening.fulfil()
            return
        }
        let error = AuthenticationError(
            .redirectUnavailable,
            """
            The provider sent the browser back to \(base), where nothing listens. Give the configuration the receiver that \
            the browser was made with (redirectReceiver).
            """
        )
        opening.finish(.failure(error))
    }

    private func deliver(
        _ items: [(String, String)],
        to base: String,
        _ isPosted: Bool,
        _ opening: Promise<Void>
    ) async throws -> Page {
        let whole = try FormURLEncoded.appending(items, to: base)
        let page: Page
        if let receiver, let url = URL(string: whole) {
            let answer = try await receiver.deliver(url, as: isPosted ? .formPost : .query)
            page = Page(address: base, status: Self.status(of: answer), body: Self.text(of: answer))
        } else {
            let host = WebAddress(base)?.environment ?? ""
            let url = isPosted ? base : whole
            let path = WebAddress(url)?.target ?? "/"
            let body = isPosted ? Array(FormURLEncoded.encode(items).utf8) : []
            var headers = [("Host", host), ("Accept", "text/html")]
            if isPosted { headers += [("Content-Type", FormURLEncoded.contentType), ("Origin", "null")] }
            var response = try await overHTTP(isPosted ? "POST" : "GET", url, path, headers, body) {
                opening.fulfil()
            }
            if response.status == 303, let target = Self.header("location", response), target.hasPrefix("/"),
                let origin = WebAddress(base)?.origin
            {
                response = try await overHTTP("GET", origin + target, target, Array(headers.prefix(2)), [])
            }
            page = Page(address: base, status: response.status, body: String(decoding: response.body, as: UTF8.self))
        }
        state.withLock { $0.pages.append(page) }
        return page
    }

    private func askForStray(_ path: String, base: String) async throws {
        guard receiver == nil, let address = WebAddress(base) else { return }  // without a port nothing can stray
        _ = try await overHTTP("GET", address.origin + path, path, [("Host", address.environment)], [])
    }

    private static func replacing(
        _ name: String,
        with value: String?,
        in items: [(String, String)]
    ) -> [(String, String)] {
        items.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? [])
    }

    private static func status(of page: RedirectPage?) -> Int {
        switch page?.outcome {
        case .succeeded, .signedOut: 200
        case .failed, .refused: 400
        case nil: 0
        }
    }

    private static func text(of page: RedirectPage?) -> String {
        guard let page else { return "" }
        return page.message ?? "\(page.outcome)"
    }
}
