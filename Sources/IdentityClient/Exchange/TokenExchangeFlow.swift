// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// The flow that exchanges a token for another one at the token endpoint. Nothing of the answer is stored.
///
/// - SeeAlso: [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)
struct TokenExchangeFlow: Sendable {
    let refresher: TokenRefresher
    let context: RequestContext
    let parameters: TokenExchangeParameters

    var environment: FlowEnvironment { refresher.environment }

    func run() async throws -> TokenExchangeResult {
        try parameters.check()
        let scopes = try parameters.scopes.checked()
        var authority = try environment.clouds.authority(parameters.authority, of: parameters.subject.account)
        if let account = parameters.subject.account { authority = authority.resolved(for: account.id) }
        let metadata = try await environment.resolver.metadata(for: authority, context: context)
        guard metadata.exchangesTokens else { throw AuthenticationError.exchangeNotOffered(nil, context) }
        let endpoint = TokenEndpoint(environment, authority, metadata, context)
        switch parameters.subject.source {
        case .given(let token):
            return try await exchange(token, isOfAccount: false, scopes, endpoint)
        case .accessToken(let account, let wanted):
            return try await exchange(.accessToken, of: account, wanted, scopes, endpoint)
        case .idToken(let account, let wanted):
            guard authority.issuesIDTokens else {
                throw AuthenticationError(
                    .unsupported,
                    "A plain OAuth 2.0 server issues no ID tokens. Exchange the access token.",
                    correlationID: context.correlationID
                )
            }
            return try await exchange(.idToken, of: account, wanted, scopes, endpoint)
        }
    }

    /// Exchanges a token of an account, which is renewed once if it comes from the cache and the provider refuses it.
    private func exchange(
        _ type: SecurityToken.TypeIdentifier,
        of account: Account,
        _ wanted: Set<Scope>,
        _ scopes: [String],
        _ endpoint: TokenEndpoint
    ) async throws -> TokenExchangeResult {
        let called = try environment.clouds.authority(parameters.authority, of: account)
        var silent = SilentParameters(scopes: wanted, account: account, authority: called)
        silent.correlationID = context.correlationID
        let flow = SilentFlow(refresher: refresher)
        var held = try await flow.run(silent)
        if type == .idToken, held.source == .cache, idToken(of: held) == nil {
            silent.forcesRefresh = true
            held = try await flow.run(silent)
            silent.forcesRefresh = false
        }
        let first = try token(type, of: held)
        do {
            return try await exchange(first, isOfAccount: true, scopes, endpoint)
        } catch let error as AuthenticationError where held.source == .cache && error.mayRefuseTheSubject {
            let renewed = try token(type, of: try await flow.run(silent, insteadOf: held))
            return try await exchange(renewed, isOfAccount: true, scopes, endpoint)
        }
    }

    private func token(
        _ type: SecurityToken.TypeIdentifier,
        of held: AuthenticationResult
    ) throws -> SecurityToken {
        guard type == .idToken else { return SecurityToken(held.accessToken, type: type) }
        guard let idToken = idToken(of: held) else {
            throw AuthenticationError(
                .loginRequired,
                "There is no ID token that is still good, and the provider renews none without a sign-in.",
                correlationID: context.correlationID
            )
        }
        return SecurityToken(idToken, type: type)
    }

    /// The ID token, if it has not expired. It was verified when it arrived.
    private func idToken(of held: AuthenticationResult) -> String? {
        guard let text = held.idToken, let token = try? JSONWebToken(compact: text),
            let claims = try? IDTokenClaims(token.claims), claims.expiration > environment.clock.unixSeconds
        else { return nil }
        return text
    }

    private func exchange(
        _ subject: SecurityToken,
        isOfAccount: Bool,
        _ scopes: [String],
        _ endpoint: TokenEndpoint
    ) async throws -> TokenExchangeResult {
        let form = TokenRequestMessage.tokenExchange(
            clientID: environment.clientID,
            subject: (subject.value, subject.type.rawValue),
            actor: parameters.actor.map { ($0.value, $0.type.rawValue) },
            requestedType: parameters.requestedType?.rawValue,
            resources: parameters.resources,
            audiences: parameters.audiences,
            scopes: scopes
        )
        let response: TokenResponse
        do {
            response = try await endpoint.redeem(form, grant: .tokenExchange)
        } catch let error as AuthenticationError {
            throw error.explainedForExchange(isOfAccount: isOfAccount, context)
        }
        return try result(of: response)
    }
}

extension AuthenticationError {
    /// Whether the subject token may be the reason of a refusal.
    ///
    /// - SeeAlso: [RFC 8693 §2.2.2](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.2), which says `invalid_request`
    fileprivate var mayRefuseTheSubject: Bool {
        ["invalid_request", "invalid_grant", "invalid_token"].contains(serverError?.error)
            && [.configuration, .loginRequired].contains(code)
    }
}
