// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

@testable import IdentityClient

/// protocol.md §5, msal-cache.md §3.4 and what two real providers answer (providers.md).
@Suite struct OAuthErrorMappingTests {
    typealias Code = AuthenticationError.Code

    private func refusal(_ json: String?, status: Int?, grant: GrantType?) throws -> AuthenticationError {
        let words = try json.flatMap { ErrorResponse(try Fixture.json($0)) }
        return OAuthErrorMapping.error(words, status: status, grant: grant, context: Fixture.context)
    }

    /// Keycloak's error for a wrong client secret, which no sign-in corrects. Gitea uses the same error for an expired refresh
    /// token.
    @Test(arguments: [(400, Code.signInExpired), (401, .clientNotRegistered)])
    func tellsAWrongSecretFromAnExpiredRefreshToken(_ status: Int, _ code: Code) throws {
        let words = #"{"error":"unauthorized_client"}"#
        #expect(try refusal(words, status: status, grant: .refreshToken).code == code)
    }

    /// A policy that demands a managed computer, which only a broker can prove.
    @Test(
        arguments: [
            (#"{"error":"interaction_required","error_codes":[53000]}"#, Code.blockedByPolicy),
            (#"{"error":"access_denied","error_description":"AADSTS53001: not domain joined"}"#, .blockedByPolicy),
            (
                #"{"error":"invalid_grant","error_codes":[53009],"suberror":"protection_policy_required"}"#,
                .blockedByPolicy
            ),
            (
                #"{"error":"invalid_grant","error_codes":[50097],"suberror":"device_authentication_failed"}"#,
                .loginRequired
            ),
        ]
    )
    func advisesABrokerWhereThePolicyDemandsADevice(words: String, code: Code) throws {
        let error = try refusal(words, status: 400, grant: nil)
        #expect(error.code == code && error.message.contains("turn the broker on (identityctl: --broker auto"))
        let response = try #require(ErrorResponse(try Fixture.json(words)))
        let told = AuthenticationError.refusedThroughBroker(response, isSilent: true, correlationID: UUID())
        #expect(told.code == code && told.message.contains("although the identity broker was asked"))
    }

    /// An answer, and its meaning for a refresh token, for a code, and through the browser.
    @Test(
        arguments: [
            (#"{"error":"invalid_grant"}"#, .signInExpired, .loginRequired, .loginRequired),
            (#"{"error":"interaction_required"}"#, .interactionRequired, .interactionRequired, .interactionRequired),
            (#"{"error":"login_required"}"#, .loginRequired, .loginRequired, .loginRequired),
            (#"{"error":"consent_required"}"#, .consentRequired, .consentRequired, .consentRequired),
            (
                #"{"error":"account_selection_required"}"#, .accountSelectionRequired, .accountSelectionRequired,
                .accountSelectionRequired
            ),
            // No person is asked during a refresh.
            (#"{"error":"access_denied"}"#, .signInExpired, .accessDenied, .accessDenied),
            (#"{"error":"access_denied","error_subcode":"cancel"}"#, .signInExpired, .userCancelled, .userCancelled),
            (#"{"error":"expired_token"}"#, .signInExpired, .interactionTimedOut, .interactionTimedOut),
            // Zoho's error.
            (
                #"{"error":"Access Denied","error_description":"You have made too many requests continuously."}"#,
                .throttled, .throttled, .throttled
            ),
            (#"{"error":"Access Denied","error_description":"No."}"#, .signInExpired, .configuration, .configuration),
            // Slack's errors for its own faults, with status 200.
            (#"{"error":"internal_error"}"#, .serverUnavailable, .serverUnavailable, .serverUnavailable),
            (#"{"error":"fatal_error"}"#, .serverUnavailable, .serverUnavailable, .serverUnavailable),
            (#"{"error":"invalid_client"}"#, .clientNotRegistered, .clientNotRegistered, .clientNotRegistered),
            // Gitea and Forgejo use this error for an expired or reused refresh token, Microsoft for a client.
            (#"{"error":"unauthorized_client"}"#, .signInExpired, .clientNotRegistered, .clientNotRegistered),
            (
                #"{"error":"unauthorized_client","error_description":"token was already used"}"#,
                .signInExpired, .clientNotRegistered, .clientNotRegistered
            ),
            (
                #"{"error":"unauthorized_client","error_codes":[12345]}"#, .clientNotRegistered,
                .clientNotRegistered, .clientNotRegistered
            ),
            (
                #"{"error":"unauthorized_client","error_codes":[700016]}"#, .clientNotRegistered,
                .clientNotRegistered, .clientNotRegistered
            ),
            (
                #"{"error":"unauthorized_client","suberror":"client_mismatch"}"#, .clientNotRegistered,
                .clientNotRegistered, .clientNotRegistered
            ),
            (
                #"{"error":"unauthorized_client","error_description":"AADB2C90057: The application is not set up."}"#,
                .clientNotRegistered, .clientNotRegistered, .clientNotRegistered
            ),
            (
                #"{"error":"unauthorized_client","error_description":"MSIS9605: The client is not allowed."}"#,
                .clientNotRegistered, .clientNotRegistered, .clientNotRegistered
            ),
            (#"{"error":"invalid_scope"}"#, .invalidScope, .invalidScope, .invalidScope),
            // A sign-in cannot make an API known.
            (
                #"{"error":"invalid_resource","error_codes":[500011]}"#, .invalidScope, .invalidScope, .invalidScope
            ),
            (#"{"error":"invalid_target"}"#, .invalidTarget, .invalidTarget, .invalidTarget),
            (#"{"error":"invalid_request"}"#, .signInExpired, .configuration, .configuration),
            (#"{"error":"unsupported_grant_type"}"#, .unsupported, .unsupported, .unsupported),
            (#"{"error":"unsupported_response_type"}"#, .unsupported, .unsupported, .unsupported),
            (#"{"error":"temporarily_unavailable"}"#, .serverUnavailable, .serverUnavailable, .serverUnavailable),
            (#"{"error":"server_error"}"#, .serverUnavailable, .serverUnavailable, .serverUnavailable),
            (#"{"error":"request_timeout"}"#, .serverUnavailable, .serverUnavailable, .serverUnavailable),
            (
                #"{"error":"redirect_uri_mismatch"}"#, .clientNotRegistered, .clientNotRegistered,
                .clientNotRegistered
            ),
            (#"{"error":"invalid_code"}"#, .signInExpired, .loginRequired, .loginRequired),
            (#"{"error":"something_new"}"#, .signInExpired, .configuration, .configuration),
            (#"{"error":"not_allowed"}"#, .signInExpired, .invalidScope, .invalidScope),
            // There is no such tenant, which no sign-in mends.
            (#"{"error":"invalid_request","error_codes":[90002]}"#, .configuration, .configuration, .configuration),
            // B2C reports it only in the description.
            (
                #"{"error":"access_denied","error_description":"AADB2C90118: The user has forgotten their password."}"#,
                .passwordResetRequired, .passwordResetRequired, .passwordResetRequired
            ),
            (
                #"{"error":"access_denied","error_description":"AADB2C90091: The user has cancelled."}"#,
                .signInExpired, .userCancelled, .userCancelled
            ),
            (
                #"{"error":"access_denied","error_description":"Not AADB2C90118"}"#, .signInExpired, .accessDenied,
                .accessDenied
            ),
            // Entra's error numbers distinguish an administrator's consent from a person's.
            (
                #"{"error":"invalid_grant","error_codes":[65001],"suberror":"consent_required"}"#, .consentRequired,
                .consentRequired, .consentRequired
            ),
            (
                #"{"error":"invalid_grant","error_codes":[90094],"suberror":"consent_required"}"#,
                .adminConsentRequired, .adminConsentRequired, .adminConsentRequired
            ),
            (
                #"{"error":"access_denied","error_description":"AADSTS90094: Admin consent."}"#, .adminConsentRequired,
                .adminConsentRequired, .adminConsentRequired
            ),
            (
                #"{"error":"access_denied","error_description":"AADSTS900941: x"}"#, .adminConsentRequired,
                .adminConsentRequired, .adminConsentRequired
            ),
            (
                #"{"error":"access_denied","error_description":"AADSTS9009: x"}"#, .signInExpired, .accessDenied,
                .accessDenied
            ),
            (
                #"{"error":"interaction_required","error_codes":[53003]}"#, .blockedByPolicy, .blockedByPolicy,
                .blockedByPolicy
            ),
            (
                #"{"error":"invalid_client","error_codes":[7000218]}"#, .clientNotRegistered, .clientNotRegistered,
                .clientNotRegistered
            ),
            (
                #"{"error":"invalid_request","error_codes":[50011]}"#, .clientNotRegistered, .clientNotRegistered,
                .clientNotRegistered
            ),
            (
                #"{"error":"invalid_grant","error_description":"AADSTS50196: loop"}"#, .requestLoop, .requestLoop,
                .requestLoop
            ),
            (#"{"error":"invalid_grant","error_codes":[12345]}"#, .signInExpired, .loginRequired, .loginRequired),
        ] as [(String, Code, Code, Code)]
    )
    func means(json: String, refresh: Code, code: Code, authorize: Code) throws {
        #expect(try refusal(json, status: 400, grant: .refreshToken).code == refresh)
        #expect(try refusal(json, status: 400, grant: .authorizationCode).code == code)
        #expect(try refusal(json, status: nil, grant: nil).code == authorize)
    }

    /// msal-cache.md §3.4
    @Test(
        arguments: [
            ("basic_action", .loginRequired), ("additional_action", .loginRequired), ("message_only", .loginRequired),
            ("consent_required", .consentRequired),
            ("user_password_expired", .loginRequired), ("bad_token", .signInExpired),
            ("token_expired", .signInExpired),
            ("user_account_deleted", .signInExpired), ("protection_policy_required", .blockedByPolicy),
            ("client_mismatch", .clientNotRegistered),
            ("device_authentication_failed", .loginRequired), ("something_else", .signInExpired),
        ] as [(String, Code)]
    )
    func classifiesSuberrors(suberror: String, expected: Code) throws {
        let error = try refusal(
            #"{"error":"invalid_grant","suberror":"\#(suberror)"}"#,
            status: 400,
            grant: .refreshToken
        )
        #expect(error.code == expected)
        #expect(error.serverError?.suberror == suberror)
        // The sub-error does not count if the error is of another kind.
        #expect(
            try refusal(#"{"error":"invalid_scope","suberror":"\#(suberror)"}"#, status: 400, grant: .refreshToken).code
                == .invalidScope
        )
    }

    /// Keycloak's page was open too long, and another request succeeds at once.
    @Test func aPageThatIsOutOfDateIsNoOutage() throws {
        let json = #"{"error":"temporarily_unavailable","error_description":"authentication_expired"}"#
        #expect(try refusal(json, status: nil, grant: nil).code == .loginRequired)
        #expect(try refusal(json, status: 400, grant: .refreshToken).code == .serverUnavailable)
    }

    /// Empty and unreadable bodies are classified by their status (providers.md).
    @Test(
        arguments: [
            (400, .signInExpired, .loginRequired), (401, .signInExpired, .configuration),
            (403, .signInExpired, .loginRequired), (404, .configuration, .configuration),
        ] as [(Int, Code, Code)]
    )
    func readsAnEmptyBody(status: Int, refresh: Code, code: Code) throws {
        let error = try refusal(nil, status: status, grant: .refreshToken)
        #expect(error.code == refresh)
        #expect(error.serverError?.error == "http_\(status)" && error.serverError?.httpStatus == status)
        #expect(try refusal(nil, status: status, grant: .authorizationCode).code == code)
    }

    /// For Rauthy, 404 means an unknown refresh token. For others, it means a missing endpoint.
    @Test(arguments: [
        ("NotFound", Code.signInExpired), ("not_found", .configuration), ("Realm does not exist", .configuration),
    ])
    func tellsAnUnknownTokenFromAnUnknownPlace(error: String, expected: Code) throws {
        let json = #"{"error":"\#(error)","message":"x"}"#
        #expect(try refusal(json, status: 404, grant: .refreshToken).code == expected)
        #expect(try refusal(json, status: 404, grant: .authorizationCode).code == .configuration)
    }

    /// protocol.md §5, first row: claims to pass on.
    @Test(
        arguments: [
            (#"{"error":"invalid_grant","claims":"{\"a\":1}"}"#, .claimsChallenge),
            (#"{"error":"interaction_required","claims":{"a":1}}"#, .claimsChallenge),
            (#"{"error":"invalid_grant","suberror":"basic_action","claims":"{\"a\":1}"}"#, .loginRequired),
            (#"{"error":"invalid_client","claims":"{\"a\":1}"}"#, .clientNotRegistered),
        ] as [(String, Code)]
    )
    func handsClaimsOn(json: String, expected: Code) throws {
        let error = try refusal(json, status: 400, grant: .refreshToken)
        #expect(error.code == expected)
        #expect(error.claims == #"{"a":1}"#)
    }

    @Test func keepsTheServersWords() throws {
        let error = try refusal(
            #"{"error":"invalid_grant","error_description":"d","error_uri":"u","trace_id":"t","correlation_id":"c","timestamp":"now","error_codes":[1,2]}"#,
            status: 400,
            grant: .refreshToken
        )
        let expected = ServerError(
            error: "invalid_grant",
            errorDescription: "d",
            errorURI: "u",
            errorCodes: [1, 2],
            traceID: "t",
            correlationID: "c",
            timestamp: "now",
            httpStatus: 400
        )
        #expect(error.serverError == expected)
        #expect(!error.message.isEmpty && error.correlationID != nil)
    }
}
