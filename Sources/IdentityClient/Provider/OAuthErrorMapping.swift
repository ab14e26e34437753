// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import OAuthWire

/// The mapping of a server's refusal to an error for the program.
///
/// The code follows from `error`, `suberror` and, only if nothing else tells the cases apart, Microsoft's numbers.
/// Descriptions are not parsed, with two exceptions: Microsoft's numbers if they are nowhere else, as at B2C, and Zoho's
/// text for too many requests. Without these members the status decides; an answer without an OAuth error is a refusal only
/// if its status is one of OAuth's (``EndpointOutcome``).
enum OAuthErrorMapping {
    /// - Parameters:
    ///   - foreignWords: The words of the answer in place of an OAuth error.
    ///   - grant: The redeemed grant, or `nil` if there was none.
    ///   - isThroughBroker: Whether an identity broker passes the refusal on.
    static func error(
        _ words: ErrorResponse?,
        foreignWords: String? = nil,
        status: Int?,
        grant: GrantType?,
        isThroughBroker: Bool = false,
        context: RequestContext
    ) -> AuthenticationError {
        var server = ServerError(words, status: status)
        server.errorDescription = server.errorDescription ?? foreignWords
        var code = code(server, grant: grant, status: status, asksForClaims: words?.claims != nil)
        // A refresh asks no person, so no person can have refused: with `access_denied` the provider or its policy ends
        // the sign-in. Signing in shows the cause.
        if grant == .refreshToken, .userCancelled ~= code { code = .signInExpired }
        if grant == .authorizationCode, let foreignWords, code == .loginRequired {
            return context.error(
                .configuration,
                """
                The provider refused the code that it had just issued, in words of its own: \(WireText.quoted(foreignWords, upTo: 300)). Check \
                the client's registration: its identifier, its secret and its redirect address.
                """,
                serverError: server
            )
        }
        return context.error(
            code,
            (wantsADevice(server) ? deviceAdvice(isThroughBroker) : nil) ?? adviceByWord(server, code) ?? advice[code]
                ?? "The server refused the request (\(WireText.quoted(server.error))).",
            serverError: server,
            claims: words?.claims
        )
    }

    private static func code(
        _ server: ServerError,
        grant: GrantType?,
        status: Int?,
        asksForClaims: Bool
    ) -> AuthenticationError.Code {
        if let code = codeByNumber(server) { return code }
        if let code = server.suberror.flatMap({ codeBySuberror[$0] }), isGrantProblem(server.error) { return code }
        if asksForClaims, isGrantProblem(server.error) { return .claimsChallenge }
        // Deviation: Gitea and Forgejo send this for a refresh token that expired or was used before. A client that
        // really may not refresh gets the same at sign-in. With 401 it is about the client's secret (Keycloak).
        if grant == .refreshToken, server.error == "unauthorized_client", status != 401, !isMicrosofts(server) {
            return .signInExpired
        }
        // Deviation: Zoho sends this, with 400, for too many refreshes.
        if server.error == "Access Denied", server.errorDescription?.contains("too many requests") == true {
            return .throttled
        }
        // Deviation: Keycloak's page was open too long. The person is signed in there, and another request succeeds at once.
        if grant == nil, server.error == "temporarily_unavailable",
            server.errorDescription == "authentication_expired"
        {
            return .loginRequired
        }
        // Deviation: Keycloak's code if the person may not have `offline_access`.
        if grant != .refreshToken, server.error == "not_allowed" { return .invalidScope }
        if let code = codeByError[server.error] { return code }
        // Deviation: with 404, Rauthy sends `NotFound` for an unknown refresh token. From others, 404 means a wrong
        // address.
        if grant == .refreshToken, status != 404 || server.error == "NotFound" { return .signInExpired }
        if server.error == "invalid_grant" || server.error == "invalid_code" { return .loginRequired }
        if grant == .authorizationCode, server.error == "http_400" || server.error == "http_403" {
            return .loginRequired
        }
        return .configuration
    }

    private static func isGrantProblem(_ error: String) -> Bool {
        ["invalid_grant", "interaction_required", "consent_required", "access_denied", "unauthorized_client"].contains(
            error
        )
    }

    /// Whether a refusal has one of the numbers of Entra ID, B2C or AD FS.
    private static func isMicrosofts(_ server: ServerError) -> Bool {
        let description = server.errorDescription ?? ""
        return !server.errorCodes.isEmpty || ["AADSTS", "AADB2C", "MSIS"].contains(where: description.hasPrefix)
    }

    /// B2C names the case only in the description; Entra's numbers tell an administrator's consent from a person's.
    private static func codeByNumber(_ server: ServerError) -> AuthenticationError.Code? {
        let description = server.errorDescription ?? ""
        if description.hasPrefix("AADB2C90118") { return .passwordResetRequired }
        if description.hasPrefix("AADB2C90091") { return .userCancelled }
        if description.hasPrefix("AADSTS50196") { return .requestLoop }
        return codeByEntraNumber.first { has($0.0, server) }?.1
    }

    /// Whether a refusal has this number of Entra ID's, as a member or at the beginning of its description.
    private static func has(_ number: Int, _ server: ServerError) -> Bool {
        server.errorCodes.contains(number)
            || server.errorDescription?.utf8.starts(with: "AADSTS\(number):".utf8) ?? false
    }

    /// Whether a policy of Entra ID's demands a computer that the organization manages, or an application that it protects.
    private static func wantsADevice(_ server: ServerError) -> Bool {
        server.suberror == "protection_policy_required" || server.suberror == "device_authentication_failed"
            || [53000, 53001, 53002, 53009, 50097, 50129, 530_003].contains { has($0, server) }
    }

    private static func deviceAdvice(_ isThroughBroker: Bool) -> String {
        isThroughBroker
            ? """
            The organization's policy does not accept this computer, or this program on it, although the identity broker \
            was asked. Ask the organization's administrator whether the computer is enrolled and compliant.
            """
            : """
            The organization's policy demands a computer that it manages, which only an identity broker can prove. On an \
            enrolled computer, turn the broker on (identityctl: --broker auto); otherwise ask the \
            organization's administrator.
            """
    }

    /// The advice for one of the provider's words, which the code does not give.
    private static func adviceByWord(_ server: ServerError, _ code: AuthenticationError.Code) -> String? {
        switch (code, server.suberror) {
        case (.loginRequired, "basic_action"), (.loginRequired, "device_authentication_failed"):
            "The provider asks for more, a second factor for example: sign in interactively."
        case (.loginRequired, "additional_action"):
            "The person must first act outside the sign-in, for example enroll the device."
        case (.loginRequired, "message_only"): "The provider refuses. Signing in will only show the reason."
        case (.loginRequired, "user_password_expired"): "The password expired. Sign in interactively to change it."
        case (.clientNotRegistered, _) where isAboutTheRedirect(server):
            "The redirect URI is not registered for this client: add it to the registration."
        case (.unsupported, _) where server.error == "invalid_dpop_proof":
            "The server does not accept the proof of the sign-in's key (DPoP). Check this computer's clock, and try again."
        default: nil
        }
    }

    private static func isAboutTheRedirect(_ server: ServerError) -> Bool {
        ["redirect_uri_mismatch", "invalid_redirect_uri"].contains(server.error)
            || [50011, 500_113].contains { has($0, server) }
    }

    private static let codeByEntraNumber: [(Int, AuthenticationError.Code)] = [
        (90094, .adminConsentRequired), (90093, .adminConsentRequired), (90095, .adminConsentRequired),
        (900941, .adminConsentRequired), (65001, .consentRequired),
        (53003, .blockedByPolicy), (53000, .blockedByPolicy), (53001, .blockedByPolicy),
        (53002, .blockedByPolicy), (53009, .blockedByPolicy), (530_003, .blockedByPolicy), (50129, .blockedByPolicy),
        (7_000_218, .clientNotRegistered), (700_016, .clientNotRegistered),
        (50011, .clientNotRegistered), (500_113, .clientNotRegistered),
        (50196, .requestLoop), (90002, .configuration),
    ]

    private static let codeBySuberror: [String: AuthenticationError.Code] = [
        "basic_action": .loginRequired, "additional_action": .loginRequired, "message_only": .loginRequired,
        "consent_required": .consentRequired, "user_password_expired": .loginRequired,
        "bad_token": .signInExpired, "token_expired": .signInExpired, "user_account_deleted": .signInExpired,
        "protection_policy_required": .blockedByPolicy, "client_mismatch": .clientNotRegistered,
        "device_authentication_failed": .loginRequired, "cancel": .userCancelled,
    ]

    private static let codeByError: [String: AuthenticationError.Code] = [
        "interaction_required": .interactionRequired, "login_required": .loginRequired,
        "consent_required": .consentRequired, "account_selection_required": .accountSelectionRequired,
        "access_denied": .accessDenied, "authorization_declined": .accessDenied,
        "expired_token": .interactionTimedOut, "code_expired": .interactionTimedOut,
        "invalid_client": .clientNotRegistered,
        "unauthorized_client": .clientNotRegistered, "invalid_scope": .invalidScope,
        // An unknown API of the scopes, in the words of Entra ID; one that the request names, in those of RFC 8707.
        "invalid_resource": .invalidScope, "invalid_target": .invalidTarget,
        "unsupported_grant_type": .unsupported, "unsupported_response_type": .unsupported,
        "redirect_uri_mismatch": .clientNotRegistered, "invalid_redirect_uri": .clientNotRegistered,
        "temporarily_unavailable": .serverUnavailable, "server_error": .serverUnavailable,
        "request_timeout": .serverUnavailable, "use_dpop_nonce": .serverUnavailable, "invalid_dpop_proof": .unsupported,
        // Slack's, with status 200.
        "internal_error": .serverUnavailable, "fatal_error": .serverUnavailable,
    ]

    private static let advice: [AuthenticationError.Code: String] = [
        .interactionRequired: "The provider needs the person: sign in interactively.",
        .loginRequired: "The provider wants the person to sign in again.",
        .consentRequired: "The person has not yet agreed to these scopes: sign in interactively.",
        .adminConsentRequired: """
        Only an administrator can agree to these scopes. Ask the organization's administrator to grant admin consent \
        for this application (Entra admin centre, Enterprise applications, Permissions).
        """,
        .claimsChallenge: "The provider asks for more: sign in interactively with the error's claims.",
        .accountSelectionRequired: "The person has to choose an account: sign in interactively.",
        .signInExpired: "The sign-in expired or was revoked: sign in interactively.",
        .passwordResetRequired: "The person forgot the password: start the password-reset policy.",
        .userCancelled: "The sign-in was cancelled.",
        .interactionTimedOut: "The code expired before the sign-in was finished. Start again for a new one.",
        .accessDenied: "The person, or the provider, did not allow it.",
        .clientNotRegistered: """
        The provider does not know this client, or not as a public one. Check the client id, that public client flows \
        are allowed for it, and the client secret where the provider demands one.
        """,
        .invalidScope: """
        The provider does not know one of the scopes, or the API that they are of, or does not allow it to this client.
        """,
        .invalidTarget: """
        The provider issues no tokens for this resource. Check its spelling, and for which resources the client may ask.
        """,
        .blockedByPolicy:
            "The organization's policy blocks this sign-in. Ask its administrator; trying again does not help.",
        .requestLoop: "The provider stopped a loop of identical requests. Wait some minutes.",
        .unsupported: "The provider does not offer this to the client.",
        .throttled: "The server asks to wait. Try again later.",
        .serverUnavailable: "The server cannot answer now. Try again later.",
        .configuration: """
        The provider refused the request: check the client's registration, the authority, and the client secret where the \
        provider demands one.
        """,
    ]
}

extension AuthenticationError {
    /// Whether the provider says that the refresh token will never be valid again.
    var isOfADeadToken: Bool {
        ["bad_token", "user_account_deleted"].contains(serverError?.suberror)
    }

    /// Whether the provider says that a family's refresh token is not for this client (``RefreshExchange``).
    var isOfAnotherFamily: Bool { code == .noTokensFound && serverError?.suberror == "client_mismatch" }
}

extension AuthenticationError {
    /// Returns the error for a refusal that a broker passes on from Entra ID.
    ///
    /// - Parameter isSilent: Whether no person was asked.
    package static func refusedThroughBroker(
        _ words: ErrorResponse,
        isSilent: Bool,
        correlationID: UUID
    ) -> AuthenticationError {
        OAuthErrorMapping.error(
            words,
            status: nil,
            grant: isSilent ? .refreshToken : nil,
            isThroughBroker: true,
            context: RequestContext(correlationID: correlationID, logger: nil)
        )
    }
}
