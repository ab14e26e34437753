// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import SystemSupport

extension GrantValidation {
    /// Decides about the response to a refresh. The earlier claims stay if the response has no ID token, if no keys can
    /// verify it, or if it belongs to another nonce or access token.
    ///
    /// - Parameter willFetch: Called before keys are fetched, which may take as long as one request.
    func refreshGrant(
        _ response: TokenResponse,
        _ exchange: RefreshExchange,
        _ metadata: ProviderMetadata,
        willFetch: @escaping @Sendable () async -> Void
    ) async throws -> TokenGrant {
        let (request, before) = (exchange.request, exchange.snapshot.credentials)
        let response = response.read(
            at: request.authority,
            asked: request.scopes + (before.refreshToken?.scopes ?? [])
        )
        .namingScopes(as: request.scopes, at: request.authority)
        let certificateEnd = try check(response, request.need.binding)
        var profile: CachedProfile?
        if let idToken = response.idToken {
            var expectation = expectation(request.authority, metadata, response)
            let earlier = before.idToken(inRealm: request.need.tenant)
            expectation.subject = earlier?.claims.string("sub")
            expectation.checksTimes = false
            expectation.accessToken = nil
            do {
                if let failure = exchange.keysFailure { throw failure }
                let claims = try await claims(of: idToken, expectation, metadata, willFetch)
                if let essential = ClaimsParameterText.essentialACR(in: request.claims), !claims.hasACR(in: essential) {
                    throw insufficientAuthentication(request)
                }
                if claims.isUsable(after: earlier), claims.belong(to: response.accessToken, in: idToken) {
                    profile = CachedProfile(
                        claims,
                        idToken: idToken,
                        authority: request.authority,
                        homeTenant: before.accountID.homeTenant
                    )
                } else {
                    context.logger.debug("The ID token of a refresh has another nonce or access token and is left out")
                }
            } catch let error as AuthenticationError
                where error.code != .invalidIDToken && error.code != .claimsChallenge
            {
                // The keys could not be fetched. The unverified ID token must still name the same person.
                guard isAboutThePerson(response, exchange) else { throw mismatch }
                context.logger.debug(
                    "The ID token of a refresh could not be verified now and is left out",
                    metadata: ["identity.error": "\(error.shortDescription)"]
                )
            }
        }
        let identity = AccountIdentity(
            accountID: before.accountID,
            homeAccountID: before.homeAccountID,
            homeTenant: nil
        )
        try checkSamePerson(response, request.authority, before.accountID)
        return TokenGrant(
            response: response,
            requestedScopes: request.scopes,
            impliedScopes: exchange.impliedScopes,
            identity: identity,
            profile: profile,
            realm: profile?.realm ?? request.need.tenant ?? before.profiles.first?.realm ?? request.authority.realm,
            authorityTenant: request.need.tenant,
            rule: request.authority.scopeRule,
            binding: request.need.binding,
            certificateEnd: certificateEnd,
            parameterTag: environment.parameterTag
        )
    }

    /// Takes no longer than one request may take, however many are needed, because the lease lasts no longer.
    private func claims(
        of idToken: String,
        _ expectation: IDTokenExpectation,
        _ metadata: ProviderMetadata,
        _ willFetch: @escaping @Sendable () async -> Void
    ) async throws -> IDTokenClaims {
        do {
            return try await withDeadline(environment.client.deadline) { [environment, context] in
                try await environment.verifier.claims(
                    of: idToken,
                    expecting: expectation,
                    metadata: metadata,
                    context: context,
                    willFetch: willFetch
                )
            }
        } catch is DeadlineExceeded { throw Self.keysTimedOut }
    }

    /// Whether nothing in an unverified response names another person.
    func isAboutThePerson(_ response: TokenResponse, _ exchange: RefreshExchange) -> Bool {
        let (request, before) = (exchange.request, exchange.snapshot.credentials)
        let earlier = before.idToken(inRealm: request.need.tenant)?.claims.string("sub")
        // An ID token that cannot be read names no person.
        let answered = response.idToken.flatMap { try? JSONWebToken(compact: $0) }?.claims.string("sub")
        if let earlier, let answered, !WireText.areSame(earlier, answered) { return false }
        return (try? checkSamePerson(response, request.authority, before.accountID)) != nil
    }

    private func checkSamePerson(_ response: TokenResponse, _ authority: Authority, _ account: Account.ID) throws {
        guard authority.hasHomeAccounts, let info = response.clientInfo.flatMap(ClientInfo.parse),
            let answered = AccountIdentity(authority: authority, clientInfo: info, issuer: nil, subject: nil),
            answered.accountID != account
        else { return }
        throw mismatch
    }

    /// The error of a request that demands a way of authentication which only the person can use.
    private func insufficientAuthentication(_ request: SilentRequest) -> AuthenticationError {
        context.error(
            .claimsChallenge,
            """
            The person did not authenticate in the way that the claims demand (acr). Sign in interactively with these \
            claims.
            """,
            claims: request.claims
        )
    }

    private var mismatch: AuthenticationError {
        context.error(
            .invalidResponse,
            "The answer is about another person than the one asked for; nothing was stored."
        )
    }
}

extension IDTokenClaims {
    /// Whether a refresh's ID token, valid in all else, may replace the `earlier` one. It must have the same nonce, or
    /// none.
    ///
    /// Deviation: Gitea and Forgejo keep one nonce for each person and client, that of the newest sign-in, and put it
    /// into every ID token. After the person signs in on a second computer, each refresh on the first one brings a
    /// nonce of the second. OpenID Connect Core §12.2 forbids the use of such an ID token, so it is not used. The
    /// access token needs no nonce.
    fileprivate func isUsable(after earlier: JSONWebToken?) -> Bool {
        guard let nonce, let expected = earlier?.claims.string("nonce") else { return true }
        return constantTimeEquals(nonce, expected)
    }

    /// Whether the ID token has no hash of another access token than the one that came with it.
    ///
    /// Deviation: if a refresh token is sent again within its grace period, django-oauth-toolkit answers with the
    /// access token that it gave before, and with an ID token for an access token that it has discarded. That ID token
    /// is not used. The access token needs none.
    fileprivate func belong(to accessToken: String?, in idToken: String) -> Bool {
        guard let accessToken, let token = try? JSONWebToken(compact: idToken), let algorithm = token.signatureAlgorithm
        else { return true }
        return atHashMatches(accessToken: accessToken, algorithm: algorithm)
    }
}

extension AccountCredentials {
    /// The earlier ID token. A refresh must repeat its `sub`, and its `nonce` to replace it. Entra's ID tokens differ
    /// from tenant to tenant.
    func idToken(inRealm realm: String?) -> JSONWebToken? {
        let profile = realm.map { realm in profiles.first { $0.realm == realm } } ?? profiles.first
        // It was verified when it came. An ID token that can no longer be read imposes no `sub`.
        return profile?.idToken.flatMap { try? JSONWebToken(compact: $0) }
    }
}
