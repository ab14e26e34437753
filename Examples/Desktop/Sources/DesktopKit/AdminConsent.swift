// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import Foundation
import IdentityClient

/// The page on which an administrator grants a program's permissions for the whole organization.
///
/// - SeeAlso: [Admin consent](https://learn.microsoft.com/entra/identity-platform/v2-admin-consent)
struct AdminConsent {
    /// The page's address.
    let url: URL
    private let state: String

    /// Creates the address.
    ///
    /// - Parameters:
    ///   - application: The registration and its provider.
    ///   - redirectURI: The registered redirect URI of the page.
    ///   - state: An unguessable value that the answer repeats.
    /// - Throws: ``WordedError`` with the code `.unsupported` if the provider does not have Microsoft Entra ID's form.
    init(
        _ application: PublicClientApplication,
        scopes: Set<Scope>,
        redirectURI: URL,
        state: String = String(UInt128.random(in: 0 ... .max), radix: 36)
    ) throws {
        let configuration = application.configuration
        let values = [
            "client_id": configuration.clientID.rawValue,
            "redirect_uri": redirectURI.absoluteString,
            "scope": scopes.map(\.rawValue).sorted().joined(separator: " "),
            "state": state,
        ]
        guard var address = URLComponents(string: configuration.authority.description),
            let tenant = Self.tenant(address.path)
        else { throw Self.unsupported }
        address.path = "/\(tenant)/v2.0/adminconsent"
        let unreserved = CharacterSet(
            charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
        )
        address.percentEncodedQuery = values.sorted { $0.key < $1.key }.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")"
        }
        .joined(separator: "&")
        guard let url = address.url else { throw Self.unsupported }
        self.url = url
        self.state = state
    }

    /// Returns the organization's identifier from the page's answer.
    ///
    /// - Throws: ``WordedError`` with the code `.stateMismatch` if the answer belongs to another request; `.accessDenied` if
    ///   the administrator refused; `.malformedResponse` if the answer says neither yes nor no.
    func tenant(from answer: URL) throws -> String {
        let items = URLComponents(url: answer, resolvingAgainstBaseURL: false)?.queryItems ?? []
        func value(_ name: String) -> String? {
            let values = items.filter { $0.name == name }
            return values.count == 1 ? values[0].value : nil
        }
        guard value("state") == state else {
            throw WordedError(.stateMismatch, "This is not the answer that is waited for.")
        }
        if items.contains(where: { $0.name == "error" }) {
            let reason = value("error_description") ?? value("error") ?? ""
            let text = tr("The administrator has not allowed the program. {0}", String(reason.prefix(500)))
            throw WordedError(.accessDenied, text)
        }
        guard value("admin_consent")?.lowercased() == "true", let tenant = value("tenant"), !tenant.isEmpty else {
            throw WordedError(
                .malformedResponse,
                tr("The administrator's page said neither yes nor no. Ask again.")
            )
        }
        return tenant
    }

    /// Returns the tenant in an authority's path. No administrator can consent for all tenants, nor for personal
    /// accounts.
    private static func tenant(_ path: String) -> String? {
        let segments = path.split(separator: "/").filter { $0 != "v2.0" }
        guard segments.count == 1, segments[0] != "consumers" else { return nil }
        return segments[0] == "common" ? "organizations" : String(segments[0])
    }

    private static var unsupported: WordedError {
        WordedError(
            .unsupported,
            tr("This provider has no page for administrators. Have them allow the program where it is registered.")
        )
    }
}

extension AdminConsent {
    /// Opens the page and waits until it returns its answer, or the task is cancelled.
    ///
    /// - Parameter onAddress: Called with the page's address before the page opens.
    static func ask(
        _ application: PublicClientApplication,
        for scopes: Set<Scope>,
        onAddress: @Sendable (URL) -> Void
    ) async throws -> String {
        let configuration = application.configuration
        var receiver = configuration.redirectReceiver
        if receiver is LoopbackRedirectReceiver {
            let program = g_get_application_name().map { String(cString: $0) }
            receiver = LoopbackRedirectReceiver(applicationName: program, texts: .ofAdministrators)
        }
        // A positive answer has no code, so it is received like the return from a sign-out.
        let listener = try await receiver.startSignOut(for: configuration.redirectURI)
        let outcome: Result<String, any Error>
        do {
            let consent = try AdminConsent(application, scopes: scopes, redirectURI: listener.redirectURI)
            onAddress(consent.url)
            outcome = .success(try await consent.answer(listener, configuration.browser))
        } catch {
            outcome = .failure(error)
        }
        await listener.close()
        return try outcome.get()
    }

    private func answer(_ listener: any RedirectListener, _ browser: any BrowserLauncher) async throws -> String {
        do {
            try await browser.open(url)
        } catch let error as AuthenticationError where error.code == .browserUnavailable {
            // The caller knows the address, and the person can open it by hand.
        }
        while true {
            let redirect = try await listener.receive()
            do {
                let tenant = try tenant(from: redirect.url)
                await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
                return tenant
            } catch let error as WordedError where error.code == .stateMismatch {
                await listener.answer(redirect, with: RedirectPage(outcome: .refused))
            } catch {
                await listener.answer(redirect, with: RedirectPage(outcome: .failed))
                throw error
            }
        }
    }
}
