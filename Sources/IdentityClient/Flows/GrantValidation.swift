// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Decides whether a token response is believed, and what it says about the person.
struct GrantValidation: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// The response to a refresh. Without ID token, or without keys to verify it, the earlier claims stay.
    func refreshGrant(
        _ response: TokenResponse,
        request: SilentRequest,
        snapshot: CredentialSnapshot,
        metadata: AuthorityMetadata,
        requestedScopes: [String]
    ) async throws -> TokenGrant {
        try check(response)
        let before = snapshot.credentials
        var profile: CachedProfile?
        if let idToken = response.idToken {
            var expectation = expectation(request.authority, metadata, response)
            let earlier = before.idToken(inRealm: request.need.tenant)
            expectation.subject = earlier?.claims.string("sub")
            expectation.earlierNonce = earlier?.claims.string("nonce")
            expectation.checksTimes = false
            do {
                let claims = try await claims(of: idToken, expectation, metadata)
                profile = CachedProfile(
                    claims,
                    idToken: idToken,
                    authority: request.authority,
                    homeTenant: before.accountID.homeTenant
                )
            } catch let error as AuthenticationError where error.code != .invalidIDToken {
                // The keys could not be had. Whose token it says it is counts all the same.
                guard isAboutThePerson(response, request, snapshot) else { throw mismatch }
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
            requestedScopes: requestedScopes,
            identity: identity,
            profile: profile,
            realm: profile?.realm ?? request.need.tenant ?? before.profiles.first?.realm ?? request.authority.realm,
            authorityTenant: request.need.tenant,
            rule: request.authority.scopeRule
        )
    }

    /// No longer than a request may take, however many are needed: the lease of the refresh lasts no longer.
    private func claims(
        of idToken: String,
        _ expectation: IDTokenExpectation,
        _ metadata: AuthorityMetadata
    ) async throws -> IDTokenClaims {
        do {
            return try await withDeadline(environment.client.deadline) { [environment, context] in
                try await environment.verifier.claims(
                    of: idToken,
                    expecting: expectation,
                    metadata: metadata,
                    context: context
                )
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(.networkTimedOut, "The keys could not be had in time.")
        }
    }

    /// Whether nothing in an answer that is not believed says that it is about somebody else.
    func isAboutThePerson(_ response: TokenResponse, _ request: SilentRequest, _ snapshot: CredentialSnapshot) -> Bool {
        let before = snapshot.credentials
        let earlier = before.idToken(inRealm: request.need.tenant)?.claims.string("sub")
        // What cannot be read names nobody.
        let answered = response.idToken.flatMap { try? JSONWebToken(compact: $0) }?.claims.string("sub")
        if let earlier, let answered, earlier != answered { return false }
        return (try? checkSamePerson(response, request.authority, before.accountID)) != nil
    }

    /// The response to a code. An OpenID Connect provider has to say who the person is.
    func signInGrant(
        _ response: TokenResponse,
        authority: Authority,
        metadata: AuthorityMetadata,
        nonce: String?,
        maxAge: Int?,
        requestedScopes: [String]
    ) async throws -> TokenGrant {
        try check(response)
        var claims: IDTokenClaims?
        if let idToken = response.idToken {
            var expectation = expectation(authority, metadata, response)
            expectation.nonce = nonce
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
        let identity =
            AccountIdentity(
                authority: authority,
                clientInfo: response.clientInfo.flatMap(ClientInfo.parse),
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
            rule: authority.scopeRule
        )
    }

    private func expectation(
        _ authority: Authority,
        _ metadata: AuthorityMetadata,
        _ response: TokenResponse
    ) -> IDTokenExpectation {
        var expectation = IDTokenExpectation(
            authority: authority,
            publishedIssuer: metadata.issuer,
            clientID: environment.clientID
        )
        expectation.accessToken = response.accessToken
        expectation.skew = environment.configuration.clockTolerance.components.seconds
        return expectation
    }

    private func check(_ response: TokenResponse) throws {
        if let fault = response.fault { throw EndpointVerdict.malformed("\(fault)", context) }
        guard response.tokenType.lowercased() == "bearer", response.accessToken != nil else {
            throw AuthenticationError(
                .malformedResponse,
                "The token endpoint answered with another type of token than Bearer.",
                correlationID: context.correlationID
            )
        }
    }

    private func checkSamePerson(_ response: TokenResponse, _ authority: Authority, _ account: Account.ID) throws {
        guard authority.hasHomeAccounts, let info = response.clientInfo.flatMap(ClientInfo.parse),
            let answered = AccountIdentity(authority: authority, clientInfo: info, issuer: nil, subject: nil),
            answered.accountID != account
        else { return }
        throw mismatch
    }

    private var mismatch: AuthenticationError {
        AuthenticationError(
            .accountMismatch,
            "The answer is about another person than the one asked for; nothing was stored.",
            correlationID: context.correlationID
        )
    }
}

extension Authority {
    var issuesIDTokens: Bool {
        if case .oauth2 = kind { false } else { true }
    }
}

extension AccountCredentials {
    /// The earlier ID token, whose `sub` and `nonce` a refresh must repeat. Entra's differ from tenant to tenant.
    func idToken(inRealm realm: String?) -> JSONWebToken? {
        let profile = realm.map { realm in profiles.first { $0.realm == realm } } ?? profiles.first
        // It was verified when it came; one that can no longer be read binds to nobody.
        return profile?.idToken.flatMap { try? JSONWebToken(compact: $0) }
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

extension Authority {
    var policy: String? {
        if case .b2c(_, _, let policy, _) = kind { policy } else { nil }
    }

    /// The realm under which a token is filed.
    func tenantOfToken(_ claims: IDTokenClaims) -> String {
        switch kind {
        case .entra, .externalID: claims.tid?.lowercased() ?? realm
        default: realm
        }
    }
}
