// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Logging
import OAuthWire
import SystemSupport

/// The flow that signs an account out: here first, then at the provider, as far as the program requested it.
struct SignOutFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ account: Account, _ parameters: SignOutParameters) async throws -> SignOutResult {
        try parameters.check()
        let removal = AccountRemoval(environment: environment, context: context)
        try await removal.prepare(account)
        // After the removal, no caller has these tokens any more to revoke them later. So neither request ends with the
        // caller, but by its deadline.
        let (removed, answer) = try await regardlessOfCancellation { [self] in
            let removed = try await removal.remove(account)
            return (removed, try await revokeTokens(removed.credentials, of: account, parameters))
        }
        let result = try await atProvider(account, removed, answer, parameters)
        if let failure = removed.failure { throw failure }
        return result
    }

    /// Revokes the tokens. Returns the outcome and the provider's endpoints; `nil` if nothing is asked of the provider.
    private func revokeTokens(
        _ held: [AccountCredentials],
        of account: Account,
        _ parameters: SignOutParameters
    ) async throws -> Result<(ProviderMetadata, SignOutResult.Outcome), AuthenticationError>? {
        guard parameters.revokesTokens || parameters.endsBrowserSession else { return nil }
        let authority = environment.clouds.authority(of: account).resolved(for: account.id)
        do {
            let metadata = try await environment.resolver.metadata(for: authority, context: context)
            guard parameters.revokesTokens else { return .success((metadata, .notRequested)) }
            let revocation = Revocation(environment: environment, context: context)
            return .success((metadata, try await revocation.revoke(held, authority, metadata)))
        } catch let error as AuthenticationError {
            return .failure(error)
        }
    }

    private func atProvider(
        _ account: Account,
        _ removed: AccountRemoval.Removed,
        _ answer: Result<(ProviderMetadata, SignOutResult.Outcome), AuthenticationError>?,
        _ parameters: SignOutParameters
    ) async throws -> SignOutResult {
        let (metadata, revocation): (ProviderMetadata, SignOutResult.Outcome)
        switch answer {
        case nil: return SignOutResult(wasSignedIn: removed.wasThere)
        case .failure(let error):
            let outcome = SignOutResult.Outcome.failed(error)
            return SignOutResult(
                wasSignedIn: removed.wasThere,
                revocation: parameters.revokesTokens ? outcome : .notRequested,
                browserSession: parameters.endsBrowserSession ? outcome : .notRequested
            )
        case .success(let (endpoints, outcome)): (metadata, revocation) = (endpoints, outcome)
        }
        let authority = environment.clouds.authority(of: account).resolved(for: account.id)
        var browserSession = SignOutResult.Outcome.notRequested
        if parameters.endsBrowserSession {
            try Task.checkCancellation()
            let session = BrowserSessionEnd(
                environment: environment,
                context: context,
                authority: authority,
                parameters: parameters,
                idToken: idToken(removed.credentials, authority)
            )
            do {
                browserSession = try await session.run(at: metadata.endSessionEndpoint)
            } catch {
                if error.isOfACancelledTask { throw error }
                browserSession = .failed(failure(error))
            }
        }
        return SignOutResult(
            wasSignedIn: removed.wasThere,
            revocation: revocation,
            browserSession: browserSession
        )
    }

    /// Converts an error. A program's own receiver may throw any error.
    private func failure(_ error: any Error) -> AuthenticationError {
        error as? AuthenticationError
            ?? context.error(
                .redirectUnavailable,
                "The browser's session with the provider could not be ended.",
                underlyingError: error
            )
    }

    /// The ID token that this program received, of the configured policy if there are several.
    private func idToken(_ held: [AccountCredentials], _ authority: Authority) -> String? {
        let own = held.filter { $0.clientID == environment.clientID }
        let preferred = own.first { $0.partition == authority.partition } ?? own.first
        return preferred?.profiles.lazy.compactMap(\.idToken).first
    }
}

extension SignOutParameters {
    /// Checks the parameters.
    ///
    /// - Throws: `.invalidArgument`, before anything is removed.
    fileprivate func check() throws {
        guard timeout > .zero, timeout <= .seconds(86_400) else {
            throw AuthenticationError(.invalidArgument, "The sign-out's time-out must be above 0 and at most a day.")
        }
        _ = try ExtraItems.checked(extraQueryItems, reserved: EndSessionRequestMessage.reservedNames)
        guard ([logoutHint].compactMap(\.self) + uiLocales).allSatisfy(ExtraItems.fits) else {
            throw AuthenticationError(
                .invalidArgument,
                "A logout hint or language is too long, or has control characters."
            )
        }
    }
}

/// The parameters of a sign-out, beyond removing the account from this computer.
///
/// ```swift
/// var parameters = SignOutParameters()
/// parameters.revokesTokens = true
/// let result = try await app.signOut(account, parameters: parameters)
/// ```
public struct SignOutParameters: Sendable {
    /// Whether the provider is asked to revoke the refresh token (RFC 7009). `false` unless set.
    public var revokesTokens = false

    /// Whether the browser opens the provider's sign-out page, so that its session ends as well. `false` unless set.
    public var endsBrowserSession = false

    /// The address to which the browser returns after that; `nil` means that it stays at the provider.
    ///
    /// Set it only if exactly this address is registered with the provider: otherwise the provider shows an error
    /// instead of signing out. The loopback address with a path of its own works, as does any address that the
    /// configured receiver can listen on.
    public var postLogoutRedirectURI: RedirectURI?

    /// The person's name for the sign-out page (`logout_hint`). `nil` means the `login_hint` of the ID token at Entra
    /// ID, and no hint at other providers.
    public var logoutHint: String?

    /// Whether the address of the sign-out page carries the ID token (`id_token_hint`), or at Entra ID the token's
    /// `login_hint`, so that most providers sign out without asking. `true` unless set.
    ///
    /// Without it, the page receives the client identifier alone, and ``logoutHint`` if it is set, and may ask the
    /// person. Login.gov refuses the ID token. The browser is started with the address as an argument, which other
    /// users of the computer can see. The ID token gives no access to an API, but it names the person.
    /// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
    public var sendsIDTokenHint = true

    /// The languages of the page, in order of preference, as BCP 47 tags (`ui_locales`).
    public var uiLocales: [String] = []

    /// Additional items of the sign-out page's query. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// The time that the browser has to return, if ``postLogoutRedirectURI`` is set. One minute unless set; never
    /// infinite.
    public var timeout: Duration = .seconds(60)

    /// Receives the sign-out page's address before the browser is opened, to show it. The address may contain the ID
    /// token: never log it.
    ///
    /// If it is set, a browser that cannot be opened is no failure, because the person can open the address.
    public var onSignOutURL: (@Sendable (URL) -> Void)?

    /// The identifier of the requests in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that remove the account from this computer and do nothing else.
    public init() {}
}

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
