// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// What an answer means.
extension TokenExchangeFlow {
    /// - Throws: `.malformedResponse` for an answer that leaves out or contradicts what the specification requires,
    ///   `.unsupported` for a token of another kind than requested.
    func result(of response: TokenResponse) throws -> TokenExchangeResult {
        if let fault = response.fault { throw AuthenticationError.malformed("\(fault)", context) }
        guard let token = response.accessToken, !token.isEmpty, token.utf8.count <= 65_536 else {
            throw AuthenticationError.malformed("it has no token (access_token)", context)
        }
        guard !response.writesScopesAsArray else { throw AuthenticationError.malformed("scope is an array", context) }
        let type = SecurityToken.TypeIdentifier(rawValue: response.issuedTokenType ?? "")
        guard type.isWellFormed else {
            throw AuthenticationError.malformed("it does not say the kind of its token (issued_token_type)", context)
        }
        guard type.answers(parameters.requestedType) else {
            throw AuthenticationError(
                .unsupported,
                """
                The provider issued a token of another kind than requested (issued_token_type), so it is not used. Request \
                the kind that the provider issues, or none.
                """,
                correlationID: context.correlationID
            )
        }
        return TokenExchangeResult(
            token: SecurityToken(token, type: type),
            tokenType: try scheme(of: response, type),
            expiresOn: response.expiresIn.map {
                Date(timeIntervalSince1970: Double(environment.clock.unixSeconds) + Double($0))
            },
            scopes: response.scopes.map { Set($0.map(Scope.init(rawValue:))) } ?? parameters.scopes,
            refreshToken: response.refreshToken,
            correlationID: context.correlationID
        )
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

    /// Says what a refusal means for an exchange. A refusal that tells more already stays.
    func explaining(_ error: AuthenticationError, isOfAccount: Bool) -> AuthenticationError {
        guard let word = error.serverError?.error else { return error }
        let said: (code: AuthenticationError.Code, message: String)? =
            switch (word, error.code) {
            case ("invalid_target", .invalidScope):
                (
                    .invalidScope,
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
        if word == "unsupported_grant_type", error.code == .unsupported { return notOffered(error) }
        guard let said else { return error }
        return AuthenticationError(
            said.code,
            said.message,
            serverError: error.serverError,
            retryAfter: error.retryAfter,
            correlationID: error.correlationID,
            timestamp: error.timestamp
        )
    }

    func notOffered(_ error: AuthenticationError?) -> AuthenticationError {
        AuthenticationError(
            .unsupported,
            """
            The provider does not exchange tokens (RFC 8693, grant_types_supported). Acquire a token with the other API's \
            scopes, or ask the provider's administrator.
            """,
            serverError: error?.serverError,
            correlationID: context.correlationID
        )
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
