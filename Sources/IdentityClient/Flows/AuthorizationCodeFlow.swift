// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// Turns the provider's redirect into tokens.
struct AuthorizationCodeFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// What the redirect says, when it is the answer to `request`.
    ///
    /// - Returns: `nil` when it answers another request, or nothing: the wait goes on.
    func response(in redirect: String, to request: AuthorizationRequest) throws -> AuthorizationResponse? {
        guard let start = redirect.firstIndex(of: "?") else { return nil }
        let query = redirect[redirect.index(after: start)...].prefix { $0 != "#" }
        // What cannot be read is not the answer.
        guard let items = try? FormURLEncoded.decode(String(query)) else { return nil }
        let states = items.filter { $0.0 == "state" }.map(\.1)
        guard states.count == 1, request.isAnswered(byState: states[0]) else { return nil }
        do {
            return try AuthorizationResponse.parse(query: items)
        } catch {
            throw AuthenticationError(
                .malformedResponse,
                "The provider's redirect could not be read: \(error).",
                correlationID: context.correlationID
            )
        }
    }

    /// Checks who answered, redeems the code, validates what comes back, and stores it.
    func finish(_ response: AuthorizationResponse, to request: AuthorizationRequest) async throws -> AuthenticationResult {
        try request.spend()
        try checkIssuer(response, request)
        let code: String
        switch response.outcome {
        case .code(let value): code = value
        case .error(let words):
            throw ServerRefusal(words, status: nil, grant: nil, context: context).error
        }
        let isNamed = request.authority.isMicrosoft
        let form = TokenRequestMessage.authorizationCode(
            clientID: environment.clientID,
            code: code,
            redirectURI: request.redirectURI,
            codeVerifier: request.proofKey.verifier,
            scopes: isNamed ? request.scopes : [],
            claims: isNamed ? request.claims : nil,
            clientInfo: request.authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(
            client: environment.client,
            authority: request.authority,
            metadata: request.metadata,
            clock: environment.clock,
            context: context
        )
        let answer = try await endpoint.redeem(form, grant: .authorizationCode)
        let grant = try await GrantValidation(environment: environment, context: context)
            .signInGrant(answer, request: request, requestedScopes: request.scopes)
        try checkPerson(grant, request)
        return try await store(grant, request)
    }

    /// - SeeAlso: [RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)
    private func checkIssuer(_ response: AuthorizationResponse, _ request: AuthorizationRequest) throws {
        guard let expected = request.metadata.issuer else { return }
        // Deviation: Entra's published issuer is a template, and it names no issuer in its responses.
        if case .entra = request.authority.kind, !request.metadata.namesIssuerInResponse { return }
        // Deviation: django-oauth-toolkit and others announce `iss` and leave it out of error responses.
        let mayBeMissing = if case .error = response.outcome { true } else { !request.metadata.namesIssuerInResponse }
        // Deviation: glewlwyd escapes the values of its form posts twice.
        let names = { (issuer: String) in issuer == expected || PercentEncoding.decode(issuer) == expected }
        guard response.issuer.map(names) ?? mayBeMissing else {
            throw AuthenticationError(
                .issuerMismatch,
                "The answer comes from another provider than the one that was asked (iss). Nothing was sent to it.",
                correlationID: context.correlationID
            )
        }
    }

    private func checkPerson(_ grant: TokenGrant, _ request: AuthorizationRequest) throws {
        guard let wanted = request.parameters.account, request.authority.issuesIDTokens,
            wanted.id != grant.identity.accountID
        else { return }
        throw AuthenticationError(
            .accountMismatch,
            "Somebody else signed in than the account that was asked for; nothing was stored.",
            correlationID: context.correlationID
        )
    }

    private func store(_ grant: TokenGrant, _ request: AuthorizationRequest) async throws -> AuthenticationResult {
        var identity = grant.identity
        if !request.authority.issuesIDTokens, let account = request.parameters.account {
            identity.accountID = account.id
            identity.homeAccountID = account.homeAccountID
        }
        let now = environment.clock.unixSeconds
        let id = RecordID(authority: request.authority, account: identity.accountID)
        let fresh = AccountCredentials(
            incarnation: SecureRandom.token(bytes: 16),
            partition: id.partition,
            environment: request.authority.environment,
            clientID: environment.clientID,
            accountID: identity.accountID,
            homeAccountID: identity.homeAccountID
        )
        let (stored, persistence) = try await environment.store.commit(
            id,
            fallback: fresh.applying(grant, at: now, isSignIn: true),
            replacesDamaged: true
        ) { current in
            var credentials = current ?? fresh
            credentials.incarnation = fresh.incarnation
            return credentials.applying(grant, at: now, isSignIn: true)
        }
        guard let stored, let token = grant.accessToken(at: now) else {
            throw AuthenticationError(.malformedResponse, "The provider issued no access token.")
        }
        let rule = request.authority.scopeRule
        let acquired = AcquiredToken(
            snapshot: stored,
            token: token,
            source: .identityProvider,
            persistence: persistence,
            correlationID: context.correlationID
        )
        let result = AuthenticationResult(acquired, requested: request.parameters.scopes, rule: rule)
        let wanted = rule.matchable(request.parameters.scopes.map(\.rawValue))
        guard wanted.isEmpty || !wanted.isDisjoint(with: token.granted) else {
            throw AuthenticationError(
                .scopesDeclined,
                "The person is signed in, but none of the requested scopes was granted.",
                correlationID: context.correlationID
            )
        }
        return result
    }
}
