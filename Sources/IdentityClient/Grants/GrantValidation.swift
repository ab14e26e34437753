// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Decides whether a token response is believed, and what it says about the person.
struct GrantValidation: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Decides about the response to an authorization code. An OpenID Connect provider must name the person.
    func signInGrant(
        _ response: TokenResponse,
        authority: Authority,
        metadata: ProviderMetadata,
        nonce: String?,
        essentialACR: [String]? = nil,
        maxAge: Int?,
        requestedScopes: [String]
    ) async throws -> TokenGrant {
        let response = response.read(at: authority, asked: requestedScopes)
        try check(response)
        var claims: IDTokenClaims?
        if let idToken = response.idToken {
            var expectation = expectation(authority, metadata, response)
            expectation.nonce = nonce
            expectation.essentialACR = essentialACR
            expectation.maxAge = maxAge
            claims = try await environment.verifier.claims(
                of: idToken,
                expecting: expectation,
                metadata: metadata,
                context: context
            )
        } else if authority.issuesIDTokens {
            throw IDTokenExpectation.refused("there is none, although openid was asked for")
        }
        let clientInfo = response.clientInfo.flatMap(ClientInfo.parse)
        if let claims, let clientInfo, authority.hasHomeAccounts, !claims.mayBe(about: clientInfo, at: authority) {
            throw IDTokenExpectation.refused("it is about another person than client_info (oid, tid)")
        }
        let identity =
            AccountIdentity(
                authority: authority,
                clientInfo: clientInfo,
                issuer: claims?.issuer,
                subject: claims?.subject
            ) ?? AccountIdentity(anonymousAt: authority, nonce: SecureRandom.token(bytes: 16))
        let profile = claims.flatMap { claims in
            response.idToken.map {
                CachedProfile(claims, idToken: $0, authority: authority, homeTenant: identity.homeTenant)
            }
        }
        return TokenGrant(
            response: response,
            requestedScopes: requestedScopes,
            identity: identity,
            profile: profile,
            realm: profile?.realm ?? authority.realm,
            authorityTenant: authority.tenant,
            rule: authority.scopeRule,
            unstatedLifetime: TokenGrant.unstatedLifetime(of: response, authority)
        )
    }

    func expectation(
        _ authority: Authority,
        _ metadata: ProviderMetadata,
        _ response: TokenResponse
    ) -> IDTokenExpectation {
        var expectation = IDTokenExpectation(
            authority: authority,
            publishedIssuer: metadata.issuer,
            clientID: environment.clientID
        )
        expectation.accessToken = response.accessToken
        expectation.skew = environment.configuration.compatibility.clockTolerance.components.seconds
        return expectation
    }

    func check(_ response: TokenResponse) throws {
        if let fault = response.fault { throw AuthenticationError.malformed("\(fault)", context) }
        guard response.accessToken != nil else {
            throw unusable(
                """
                The provider issued an ID token and no access token. Request a scope of the API that you call: some \
                providers issue no access token without one.
                """
            )
        }
        guard let tokenType = response.tokenType else {
            throw unusable(
                """
                The provider does not state the type of its access token (token_type), so the token cannot be used. Ask \
                the provider to send it: RFC 6749 §5.1 requires it.
                """
            )
        }
        guard tokenType.lowercased() == "bearer" else {
            throw unusable(
                """
                The provider gave an access token of another type than Bearer, which this library cannot use. Configure \
                the client there for Bearer tokens.
                """
            )
        }
    }

    private func unusable(_ message: String) -> AuthenticationError {
        AuthenticationError(.malformedResponse, message, correlationID: context.correlationID)
    }
}

extension IDTokenClaims {
    /// Whether `client_info` may name the same person. The person has the same identifier in both in the home tenant.
    /// The identifier in another tenant cannot be compared.
    fileprivate func mayBe(about info: ClientInfo, at authority: Authority) -> Bool {
        guard let oid, let tid, WireText.areSame(tid.lowercased(), info.utid.lowercased()) else { return true }
        return WireText.areSame(authority.objectID(fromUID: info.uid.lowercased()), oid.lowercased())
    }
}

extension CachedProfile {
    init(_ claims: IDTokenClaims, idToken: String, authority: Authority, homeTenant: String?) {
        let realm = authority.tenantOfToken(claims)
        self.init(
            realm: realm,
            localAccountID: claims.oid ?? claims.subject,
            username: claims.preferredUsername ?? claims.upn ?? claims.email,
            name: claims.name,
            policy: authority.policy,
            isHomeTenant: homeTenant.map { $0 == realm.lowercased() } ?? true,
            idToken: idToken
        )
    }
}
