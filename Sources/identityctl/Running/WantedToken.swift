// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// The token that the options describe.
struct WantedToken: Sendable {
    let scopes: Set<Scope>
    let claims: String?
    var forcesRefresh: Bool
    /// The access token that an API refused, in place of which another one is wanted.
    var refusedToken: String?
    let usesCacheOnly: Bool
    let allowsExpiredToken: Bool
    var minimumValidity: Duration
    var isIDToken: Bool
    let timeout: Duration
    var scheme = AuthenticationScheme.bearer
    /// Whether the caller proves the key of a bound token with each request. No other caller gets such a token.
    var provesKey = false
    /// The account's id or username; `nil` for the only account, or the default of several.
    var account: Given?

    /// - Parameter minimumValidity: That of the token if nothing names another one.
    /// - Throws: `UsageError`.
    init(
        _ token: TokenOptions,
        _ account: AccountOption,
        _ silent: SilentOptions,
        _ environment: Environment,
        minimumValidity usual: Duration = .zero
    ) throws {
        scopes = try token.scopes(environment)
        claims = try token.claims(environment)
        forcesRefresh = try environment.isOn("force-refresh", silent.forceRefresh)
        usesCacheOnly = try environment.isOn("cache-only", silent.cacheOnly)
        allowsExpiredToken = try environment.isOn("allow-expired", silent.allowExpired)
        minimumValidity = try environment.given("min-validity", silent.minValidity)?.seconds(from: 0) ?? usual
        isIDToken = try environment.isOn("id-token", silent.idToken)
        timeout = try silent.wait()
        self.account = try environment.given("account", account.account)
    }

    /// Acquires the token from the cache, or from the provider.
    func acquire(from application: PublicClientApplication, in session: Session) async throws -> HandedToken {
        if let token = try await stored(application) { return token }
        var parameters = SilentParameters(
            scopes: scopes,
            account: try await application.chosenAccount(account),
            claims: claims,
            forcesRefresh: forcesRefresh,
            minimumValidity: minimumValidity,
            usesCacheOnly: usesCacheOnly,
            allowsExpiredToken: allowsExpiredToken,
            timeout: timeout
        )
        parameters.scheme = scheme
        parameters.refusedToken = refusedToken
        // The call itself ends in time, with a token of the cache if there is one to take.
        return try await session.bounded(by: timeout + .seconds(1)) { [parameters] in
            let result = try await application.acquireTokenSilently(parameters)
            guard isIDToken else {
                guard result.scheme != .dpop || provesKey else { throw Self.isBound }
                return HandedToken(result: result, idToken: nil)
            }
            let (renewed, idToken) = try await application.renewingIDToken(of: result, parameters)
            return HandedToken(result: renewed, idToken: idToken)
        }
    }

    private static var isBound: AuthenticationError {
        AuthenticationError(
            .unsupported,
            "The token is bound to a key (DPoP), and is of no use without a proof for each request. 'identityctl call' makes them, "
                + "and 'identityctl token --request' prints one."
        )
    }

    /// Acquires the token, and warns if it is good for a shorter time than wanted.
    func acquireWithWarning(from application: PublicClientApplication, in session: Session) async throws -> HandedToken
    {
        let token = try await acquire(from: application, in: session)
        warn(of: token, in: session)
        return token
    }

    func warn(of token: HandedToken, in session: Session) {
        session.console.warn(ofShortLife: .seconds(token.expiresOn.timeIntervalSinceNow), below: minimumValidity)
        session.warn(ofClaimsMissingIn: token.result, wanting: scopes)
    }

    /// Returns the token if it stands in a file of this computer and is good for long enough: without a deadline and another
    /// thread, for which the callers of a helper would wait at each start. Otherwise returns `nil`.
    func stored(_ application: PublicClientApplication) async throws -> HandedToken? {
        guard let cache = application.configuration.cache as? FileTokenCache, scheme == .bearer, claims == nil,
            refusedToken == nil, !forcesRefresh, !isIDToken
        else { return nil }
        let result = try await cache.readingInPlace {
            let account = try await application.chosenAccount(account)
            return try await application.cachedToken(scopes: scopes, account: account, minimumValidity: minimumValidity)
        }
        return result.map { HandedToken(result: $0, idToken: nil) }
    }
}

/// An acquired token: an ID token if one was wanted, otherwise the access token.
struct HandedToken: Sendable {
    let result: AuthenticationResult
    let idToken: IDToken?

    var text: String { idToken?.text ?? result.accessToken }
    var expiresOn: Date { idToken?.expiresOn ?? result.expiresOn }
}

extension String {
    /// - Throws: `UsageError` for a token with other characters than a header, a variable and a file may hold.
    func checkAsToken() throws {
        guard !isEmpty, utf8.areVisible else {
            throw UsageError("The provider's token has characters that no program accepts.")
        }
    }
}
