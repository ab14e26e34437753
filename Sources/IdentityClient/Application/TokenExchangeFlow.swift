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
        // The token is for another service: it is bound to no key of the account's.
        let endpoint = TokenEndpoint(environment, authority, metadata, context, provenBy: nil)
        switch parameters.subject.source {
        case .given(let token):
            return try await exchange(token, isOfAccount: false, scopes, endpoint)
        case .accessToken(let account, let wanted):
            return try await exchange(.accessToken, of: account, wanted, scopes, endpoint)
        case .idToken(let account, let wanted):
            guard authority.issuesIDTokens else {
                throw context.error(
                    .unsupported,
                    "A plain OAuth 2.0 server issues no ID tokens. Exchange the access token."
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
        var held = try await flow.runProven(silent, at: called)
        if type == .idToken, held.source == .cache, idToken(of: held) == nil {
            silent.forcesRefresh = true
            held = try await flow.runProven(silent, at: called)
            silent.forcesRefresh = false
        }
        let first = try token(type, of: held)
        do {
            return try await exchange(first, isOfAccount: true, scopes, endpoint)
        } catch let error as AuthenticationError where held.source == .cache && error.mayRefuseTheSubject {
            let renewed = try token(type, of: try await flow.runProven(silent, at: called, insteadOf: held))
            return try await exchange(renewed, isOfAccount: true, scopes, endpoint)
        }
    }

    private func token(
        _ type: SecurityToken.TypeIdentifier,
        of held: AuthenticationResult
    ) throws -> SecurityToken {
        guard type == .idToken else { return SecurityToken(held.accessToken, type: type) }
        guard let idToken = idToken(of: held) else {
            throw context.error(
                .loginRequired,
                "There is no ID token that is still good, and the provider renews none without a sign-in."
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

// What an answer means.
extension TokenExchangeFlow {
    /// - Throws: `.malformedResponse` for an answer that leaves out or contradicts what the specification requires,
    ///   `.unsupported` for a token of another kind than requested.
    func result(of response: TokenResponse) throws -> TokenExchangeResult {
        if let fault = response.fault { throw AuthenticationError.malformed("\(fault)", context) }
        guard let token = response.accessToken, !token.isEmpty, token.utf8.count <= 65_536 else {
            throw AuthenticationError.malformed("it has no token (access_token)", context)
        }
        let type = SecurityToken.TypeIdentifier(rawValue: response.issuedTokenType ?? "")
        guard type.isWellFormed else {
            throw AuthenticationError.malformed("it does not say the kind of its token (issued_token_type)", context)
        }
        guard type.answers(parameters.requestedType) else {
            throw context.error(
                .unsupported,
                """
                The provider issued a token of another kind than requested (issued_token_type), so it is not used. Request \
                the kind that the provider issues, or none.
                """
            )
        }
        var result = TokenExchangeResult(
            token: SecurityToken(token, type: type),
            tokenType: try scheme(of: response, type),
            expiresOn: response.expiresIn.map {
                Date(timeIntervalSince1970: Double(environment.clock.unixSeconds) + Double($0))
            },
            scopes: response.scopes.map { Set($0.map(Scope.init(rawValue:))) } ?? parameters.scopes,
            correlationID: context.correlationID
        )
        result.refreshToken = response.refreshToken
        return result
    }

    private func scheme(of response: TokenResponse, _ type: SecurityToken.TypeIdentifier) throws -> String {
        switch response.tokenType?.lowercased() {
        case "bearer": return "Bearer"
        case "n_a" where type != .accessToken: return "N_A"
        case nil: throw AuthenticationError.malformed("it does not say how its token is used (token_type)", context)
        default:
            throw AuthenticationError.malformed(
                "it has a token that is neither Bearer nor, for other than access tokens, N_A (token_type)",
                context
            )
        }
    }
}

extension SecurityToken.TypeIdentifier {
    /// Whether a token of this type is what was requested. An access token and an ID token may be a JWT.
    fileprivate func answers(_ requested: Self?) -> Bool {
        guard let requested, requested != self else { return true }
        let maybeJWT: Set<Self> = [.accessToken, .idToken]
        return requested == .jwt && maybeJWT.contains(self) || self == .jwt && maybeJWT.contains(requested)
    }
}

extension AuthenticationError {
    /// Says what a refusal means for an exchange. A refusal that tells more already stays.
    func explainedForExchange(isOfAccount: Bool, _ context: RequestContext) -> AuthenticationError {
        guard let word = serverError?.error else { return self }
        let said: (code: AuthenticationError.Code, message: String)? =
            switch (word, code) {
            case ("invalid_target", .invalidTarget):
                (
                    .invalidTarget,
                    """
                    The provider issues no token for this audience or resource. Check the names, and for which services the \
                    client may exchange tokens.
                    """
                )
            case ("invalid_request", .configuration):
                (
                    .configuration,
                    """
                    The provider does not accept the subject or actor token, its type, or the combination of parameters. \
                    Check whether the token has expired, and what the provider demands.
                    """
                )
            case ("invalid_grant", .loginRequired), ("invalid_token", .configuration):
                isOfAccount
                    ? (.loginRequired, "The provider no longer accepts the account's token: sign in interactively.")
                    : (
                        .configuration,
                        "The provider does not accept the given token. It may have expired, or be of another type: get a new one."
                    )
            case ("unauthorized_client", .clientNotRegistered), ("invalid_client", .clientNotRegistered):
                (
                    .clientNotRegistered,
                    """
                    The provider does not allow this client to exchange tokens. Allow it in the client's registration; some \
                    providers, Keycloak for example, allow it only to clients with a secret.
                    """
                )
            case ("access_denied", .accessDenied):
                (.blockedByPolicy, "The provider's policy does not allow this exchange. Ask its administrator.")
            default: nil
            }
        if word == "unsupported_grant_type", code == .unsupported { return .exchangeNotOffered(serverError, context) }
        guard let said else { return self }
        return saying(said.code, said.message)
    }

    /// The provider does not have the grant.
    static func exchangeNotOffered(_ server: ServerError?, _ context: RequestContext) -> AuthenticationError {
        context.error(
            .unsupported,
            """
            The provider does not exchange tokens (RFC 8693, grant_types_supported). Acquire a token with the other API's \
            scopes, or ask the provider's administrator.
            """,
            serverError: server
        )
    }
}

/// The flow that signs a person in by the sign-in of another program of the same publisher, without a browser.
///
/// - SeeAlso: [OpenID Connect Native SSO](https://openid.net/specs/openid-connect-native-sso-1_0.html)
struct DeviceSecretSignIn: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority?
    let scopes: Set<Scope>
    let secretType: SecurityToken.TypeIdentifier
    /// The name of the provider in the request; `nil` for its issuer.
    let audience: String?

    func run(_ account: Account) async throws -> AuthenticationResult {
        try secretType.check(of: "device secret")
        let signIn = try await SignIn(environment, context, at: authority, for: account, scopes: scopes)
        let (authority, metadata) = (signIn.authority, signIn.metadata)
        guard metadata.exchangesTokens else { throw AuthenticationError.exchangeNotOffered(nil, context) }
        let (idToken, secret) = try await shared(account, at: authority)
        // All that may fail comes first, because the provider may count the answer as a sign-in.
        try await signIn.fetchKeys()
        let form = TokenRequestMessage.tokenExchange(
            clientID: environment.clientID,
            subject: (idToken, SecurityToken.TypeIdentifier.idToken.rawValue),
            actor: (secret, secretType.rawValue),
            audiences: [audience ?? metadata.issuer ?? authority.url],
            scopes: signIn.asked
        )
        let response: TokenResponse
        do {
            response = try await signIn.endpoint.redeem(form, grant: .tokenExchange)
        } catch let error as AuthenticationError {
            throw error.explainedForExchange(isOfAccount: true, context)
        }
        let issued = response.issuedTokenType
        guard response.fault != nil || issued == SecurityToken.TypeIdentifier.accessToken.rawValue else {
            throw AuthenticationError.malformed("its token is no access token (issued_token_type)", context)
        }
        return try await signIn.finish(response, hasParameters: false)
    }

    /// The ID token and the device secret of the newest sign-in of the account that has both, whichever program of the group
    /// it belongs to. The ID token may have expired: the provider checks that the secret belongs to it.
    private func shared(_ account: Account, at authority: Authority) async throws -> (idToken: String, secret: String) {
        let held = try await environment.store.allSnapshots().snapshots.values.map(\.credentials).filter { held in
            held.deviceSecret != nil && WireText.areSame(held.accountID.rawValue, account.id.rawValue)
                && Authority.accountScope(ofPartition: held.partition) == authority.accountScope
        }
        let newest = held.max { ($0.refreshToken?.modifiedAt ?? 0) < ($1.refreshToken?.modifiedAt ?? 0) }
        guard let secret = newest?.deviceSecret, let idToken = newest?.profiles.lazy.compactMap(\.idToken).first else {
            throw context.error(
                .noTokensFound,
                """
                No program of this group has a sign-in of this account that others may share (scope device_sso). Sign in \
                interactively.
                """
            )
        }
        return (idToken, secret)
    }
}
