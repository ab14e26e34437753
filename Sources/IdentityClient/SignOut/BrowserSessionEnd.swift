// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// The step that opens the provider's sign-out page in the browser and, if the browser is expected back, waits for it.
///
/// - SeeAlso: [RP-Initiated Logout](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)
struct BrowserSessionEnd: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority
    let parameters: SignOutParameters
    let idToken: String?

    /// The longest ID token to send. Servers refuse the address that a longer token makes.
    private static let maximumHintBytes = 8 * 1024

    /// Opens the sign-out page.
    ///
    /// - Parameter endpoint: The provider's `end_session_endpoint`.
    func run(at endpoint: String?) async throws -> SignOutResult.Outcome {
        guard let endpoint else { return .unavailable }
        guard let target = parameters.postLogoutRedirectURI else {
            let url = try url(endpoint, returningTo: nil, state: nil)
            return try await inTime {
                try await open(url)
                return .unconfirmed
            }
        }
        let listener = try await environment.configuration.redirectReceiver.startSignOut(
            for: target.resolved(for: authority)
        )
        listener.httpsRedirects?.report { [logger = context.logger] in logger.warning("\(HTTPSRedirects.explanation)") }
        let outcome: Result<SignOutResult.Outcome, any Error>
        do {
            let state = SecureRandom.token()
            let url = try url(endpoint, returningTo: listener.redirectURI.absoluteString, state: state)
            outcome = .success(
                try await inTime {
                    try await answer(whileOpening: { try await open(url) }) {
                        try await awaitReturn(to: listener, state: state)
                    }
                }
            )
        } catch {
            outcome = .failure(error)
        }
        await listener.close()
        return try outcome.get()
    }

    private func url(_ endpoint: String, returningTo target: String?, state: String?) throws -> URL {
        let items = EndSessionRequestMessage.items(
            clientID: environment.clientID,
            idTokenHint: usesIDTokenHint ? idToken : nil,
            logoutHint: parameters.logoutHint ?? loginHintOfTheToken,
            postLogoutRedirectURI: target,
            state: state,
            uiLocales: parameters.uiLocales,
            correlationID: authority.isMicrosoft ? context.correlationID.uuidString.lowercased() : nil,
            extra: parameters.extraQueryItems.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
        return try URL.forBrowser("sign-out address", at: endpoint, with: items)
    }

    /// Whether to send the ID token. Entra ID takes a logout hint in its place, and an address should say as little of
    /// a person as possible.
    private var usesIDTokenHint: Bool {
        if case .entra = authority.kind { return false }
        return parameters.sendsIDTokenHint && (idToken?.utf8.count ?? 0) <= Self.maximumHintBytes
    }

    /// Entra's optional claim for this purpose. Entra ID does not accept a username in its place.
    private var loginHintOfTheToken: String? {
        guard parameters.sendsIDTokenHint, case .entra = authority.kind, let idToken else { return nil }
        return (try? JSONWebToken(compact: idToken))?.claims.string("login_hint")  // unreadable: no hint
    }

    private func open(_ url: URL) async throws {
        parameters.onSignOutURL?(url)
        do {
            let reason = "No browser could be opened to sign out at the provider."
            try await environment.open(url, elseSaying: "\(reason) Show the address instead (onSignOutURL).", context)
        } catch is AuthenticationError where parameters.onSignOutURL != nil {}
    }

    /// Runs `work` until the time-out. If the browser does not return, the outcome is unconfirmed, because some
    /// providers do not send the browser back. The wait does not depend on the launcher's return either.
    private func inTime(
        _ work: @escaping @Sendable () async throws -> SignOutResult.Outcome
    ) async throws -> SignOutResult.Outcome {
        do { return try await withDeadline(parameters.timeout, work) } catch is DeadlineExceeded { return .unconfirmed }
    }

    /// Waits for the return. A return without this sign-out's state is refused and confirms nothing.
    ///
    /// It also ends the wait: a browser comes back once, and only the confirmation is lost.
    private func awaitReturn(to listener: any RedirectListener, state: String) async throws -> SignOutResult.Outcome {
        let redirect = try await listener.receive()
        let states = RedirectAddress(redirect.url.absoluteString).states
        let isOurs = states.elementsEqual([state], by: constantTimeEquals)
        await listener.answer(redirect, with: RedirectPage(outcome: isOurs ? .signedOut : .refused))
        return isOurs ? .succeeded : .unconfirmed
    }
}
