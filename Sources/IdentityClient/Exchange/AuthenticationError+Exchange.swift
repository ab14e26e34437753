// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError {
    /// Says what a refusal means for an exchange. A refusal that tells more already stays.
    func explainedForExchange(isOfAccount: Bool, _ context: RequestContext) -> AuthenticationError {
        guard let word = serverError?.error else { return self }
        let said: (code: AuthenticationError.Code, message: String)? =
            switch (word, code) {
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
        if word == "unsupported_grant_type", code == .unsupported { return .exchangeNotOffered(serverError, context) }
        guard let said else { return self }
        return AuthenticationError(
            said.code,
            said.message,
            serverError: serverError,
            retryAfter: retryAfter,
            correlationID: correlationID,
            timestamp: timestamp
        )
    }

    /// The provider does not have the grant.
    static func exchangeNotOffered(_ server: ServerError?, _ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .unsupported,
            """
            The provider does not exchange tokens (RFC 8693, grant_types_supported). Acquire a token with the other API's \
            scopes, or ask the provider's administrator.
            """,
            serverError: server,
            correlationID: context.correlationID
        )
    }
}
