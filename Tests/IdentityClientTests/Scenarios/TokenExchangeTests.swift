// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// A token exchanged for another one: what is sent, which tokens, and what is refused.
@Suite(.timeLimit(.minutes(1)))
struct TokenExchangeTests {
    private typealias Fault = TestIdentityProvider.Fault

    private func lastExchange(_ setup: TestSetup) throws -> RecordedRequest {
        try #require(
            setup.provider.requests.last { $0["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange" }
        )
    }

    @Test func exchangesTheAccessTokenOfAnAccount() async throws {
        let setup = try TestSetup(clients: [.init(secret: ClientSecret(rawValue: "s3cret"))])
        let (application, first) = try await setup.signedIn { $0.clientSecret = ClientSecret(rawValue: "s3cret") }
        let records = try await setup.storedCredentials(of: application)
        let actor = SecurityToken(first.accessToken, type: .accessToken)
        var parameters = TokenExchangeParameters(.accessToken(of: first.account, scopes: ["api.read"]))
        parameters.actor = actor
        parameters.audiences = ["billing", "mail room"]
        parameters.resources = ["https://api.example.test/a?b", "urn:example:c"]
        parameters.scopes = ["b.write", "a.read"]
        parameters.requestedType = .accessToken
        parameters.correlationID = UUID()
        let result = try await application.exchangeToken(parameters)

        let form = try lastExchange(setup).form.map { "\($0.name)=\($0.value)" }
        let uri = "urn:ietf:params:oauth:token-type:access_token"
        #expect(
            form == [
                "client_id=test-client", "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
                "resource=https://api.example.test/a?b", "resource=urn:example:c", "audience=billing",
                "audience=mail room", "requested_token_type=\(uri)", "subject_token=\(first.accessToken)",
                "subject_token_type=\(uri)", "actor_token=\(first.accessToken)", "actor_token_type=\(uri)",
                "scope=a.read b.write", "client_secret=s3cret",
            ]
        )
        #expect(result.token.type == .accessToken && result.token.value != first.accessToken)
        #expect(result.tokenType == "Bearer" && result.authorizationHeader == "Bearer \(result.token.value)")
        #expect(result.expiresOn == setup.clock.now.addingTimeInterval(3600))
        #expect(result.scopes == ["a.read", "b.write"] && result.refreshToken == nil)
        #expect(result.correlationID == parameters.correlationID)
        // The subject comes from the cache, and nothing is stored.
        #expect(setup.provider.count(of: .token) == 2)
        #expect(try await setup.storedCredentials(of: application) == records)
    }

    @Test func renewsAnExpiredSubjectFirstAndOnlyOnceForMany() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let parameters = TokenExchangeParameters(.accessToken(of: first.account, scopes: ["api.read"]))
        async let one = application.exchangeToken(parameters)
        async let two = application.exchangeToken(parameters)
        _ = try await (one, two)
        #expect(setup.provider.requests.count { $0["grant_type"] == "refresh_token" } == 1)
        #expect(setup.provider.count(of: .token) == 4)
        #expect(try lastExchange(setup)["subject_token"] != first.accessToken)
    }

    @Test func exchangesAnIDTokenThatIsGood() async throws {
        let setup = try TestSetup { $0.idTokenLifetime = .seconds(60) }
        let (application, first) = try await setup.signedIn()
        var parameters = TokenExchangeParameters(.idToken(of: first.account, scopes: ["api.read"]))
        parameters.audiences = ["other-client"]
        parameters.requestedType = .idToken
        let result = try await application.exchangeToken(parameters)
        #expect(try lastExchange(setup)["subject_token"] == first.idToken)
        #expect(result.token.type == .idToken && result.tokenType == "N_A" && result.authorizationHeader == nil)
        #expect(try JSONWebToken(compact: result.token.value).claims.string("aud") == "other-client")
        #expect(setup.provider.count(of: .token) == 2)

        setup.clock.advance(by: .seconds(61))
        _ = try await application.exchangeToken(parameters)
        #expect(try lastExchange(setup)["subject_token"] != first.idToken)
        #expect(setup.provider.count(of: .token) == 4)

        setup.provider.settings.issuesIDTokenOnRefresh = false
        setup.clock.advance(by: .seconds(61))
        try await expectError(.loginRequired) { try await application.exchangeToken(parameters) }
        #expect(setup.provider.count(of: .token) == 5, "An expired ID token is not sent.")
    }

    @Test func exchangesATokenFromElsewhereWithoutAnAccount() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let application = try setup.application { $0.cache = InMemoryTokenCache() }
        let subject = SecurityToken(try #require(first.idToken), type: .jwt)
        setup.provider.failNext(
            .token,
            with: .all(
                .changing("scope", to: nil),
                .changing("expires_in", to: nil),
                .changing("refresh_token", to: #""one""#)
            )
        )
        var parameters = TokenExchangeParameters(.token(subject))
        parameters.scopes = ["a.read"]
        let result = try await application.exchangeToken(parameters)
        #expect(result.scopes == ["a.read"], "Those that were requested.")
        #expect(result.expiresOn == nil && result.refreshToken == "one")
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test(arguments: ["invalid_request", "invalid_grant", "invalid_token"])
    func renewsARefusedSubjectOnce(word: String) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let parameters = TokenExchangeParameters(.accessToken(of: first.account, scopes: ["api.read"]))
        setup.provider.failNext(.token, with: .refusal(word))
        _ = try await application.exchangeToken(parameters)
        #expect(setup.provider.count(of: .token) == 4)
        #expect(try lastExchange(setup)["subject_token"] != first.accessToken)

        setup.provider.failNext(.token, with: .refusal(word), .changing("note", to: "1"), .refusal(word))
        try await expectError(word == "invalid_request" ? .configuration : .loginRequired) {
            try await application.exchangeToken(parameters)
        }
        #expect(setup.provider.count(of: .token) == 7)
        // A token that has just come is not renewed.
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .changing("note", to: "1"), .refusal(word))
        await #expect(throws: AuthenticationError.self) { try await application.exchangeToken(parameters) }
        #expect(setup.provider.count(of: .token) == 9)
        // The sign-in has been revoked: the renewal says so.
        setup.provider.revokeSessions(of: .alice)
        try await expectError(.signInExpired) { try await application.exchangeToken(parameters) }
    }

    private static let refusals: [(AuthenticationError.Code, String, Fault)] = [
        (.invalidTarget, "audience or resource", .refusal("invalid_target")),
        (.invalidScope, "one of the scopes", .refusal("invalid_scope")),
        (.configuration, "subject or actor token", .refusal("invalid_request")),
        (.configuration, "given token", .refusal("invalid_grant")),
        (.configuration, "given token", .refusal("invalid_token", status: 401)),
        (.clientNotRegistered, "clients with a secret", .refusal("unauthorized_client")),
        (.clientNotRegistered, "clients with a secret", .refusal("invalid_client", status: 401)),
        (.unsupported, "RFC 8693", .refusal("unsupported_grant_type")),
        (.blockedByPolicy, "policy", .refusal("access_denied", status: 403)),
        (.interactionRequired, "person", .refusal("interaction_required")),
        (.serverUnavailable, "later", .refusal("invalid_request", status: 503)),
        (.throttled, "wait", .throttled(retryAfter: .seconds(7))),
        (.connectionFailed, "", .drop), (.connectionFailed, "", .truncated),
        (.malformedResponse, "redirect", .redirect(to: "https://evil.example.test/token")),
        (.malformedResponse, "", .html), (.malformedResponse, "", .notUTF8), (.malformedResponse, "", .oversized()),
        (.malformedResponse, "issued_token_type", .changing("issued_token_type", to: nil)),
        (.malformedResponse, "issued_token_type", .changing("issued_token_type", to: "7")),
        (.malformedResponse, "issued_token_type", .changing("issued_token_type", to: #""access token""#)),
        (.malformedResponse, "access_token", .changing("access_token", to: nil)),
        (.malformedResponse, "access_token", .changing("access_token", to: #""""#)),
        (.malformedResponse, "access_token", .changing("access_token", to: #""a\nb""#)),
        (.malformedResponse, "twice", .repeating("access_token")),
        (.malformedResponse, "token_type", .changing("token_type", to: nil)),
        (.malformedResponse, "token_type", .changing("token_type", to: #""N_A""#)),
        (.malformedResponse, "token_type", .changing("token_type", to: #""DPoP""#)),
        (.malformedResponse, "expires_in", .changing("expires_in", to: "[]")),
        (.malformedResponse, "scope", .changing("scope", to: #"[7]"#)),
        (
            .malformedResponse, "expires_in",
            .all(.changing("refresh_token", to: #""r""#), .changing("expires_in", to: "true"))
        ),
    ]

    /// Each exchange is one request, whatever comes back, and an error has no token.
    @Test(arguments: refusals)
    func refuses(_ code: AuthenticationError.Code, saying text: String, _ fault: TestIdentityProvider.Fault)
        async throws
    {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let subject = SecurityToken(first.accessToken, type: .accessToken)
        setup.provider.failNext(.token, with: fault)
        let error = try await expectError(code) { try await application.exchangeToken(.init(.token(subject))) }
        #expect(error.message.contains(text), "\(error.message)")
        #expect(!"\(error)".contains(first.accessToken))
        #expect(setup.provider.count(of: .token) == 2 && setup.provider.count(of: .revocation) == 0)
    }

    private static let kinds: [(SecurityToken.TypeIdentifier?, String, Bool)] = [
        (nil, "urn:x-example:ticket", true), (.accessToken, "urn:ietf:params:oauth:token-type:jwt", true),
        (.idToken, "urn:ietf:params:oauth:token-type:access_token", false),
        (.accessToken, "urn:ietf:params:oauth:token-type:refresh_token", false),
        (.idToken, "urn:ietf:params:oauth:token-type:saml2", false),
    ]

    @Test(arguments: kinds)
    func acceptsOnlyTheRequestedKind(
        _ requested: SecurityToken.TypeIdentifier?,
        _ issued: String,
        _ isAccepted: Bool
    ) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let subject = SecurityToken(first.accessToken, type: .accessToken)
        setup.provider.failNext(.token, with: .changing("issued_token_type", to: "\"\(issued)\""))
        var parameters = TokenExchangeParameters(.token(subject))
        parameters.requestedType = requested
        if isAccepted {
            #expect(try await application.exchangeToken(parameters).token.type.rawValue == issued)
        } else {
            try await expectError(.unsupported) { try await application.exchangeToken(parameters) }
        }
    }

    @Test func sendsNothingToAProviderThatDoesNotOfferIt() async throws {
        let setup = try TestSetup { $0.exchangesTokens = false }
        let (application, first) = try await setup.signedIn()
        let parameters = TokenExchangeParameters(.accessToken(of: first.account, scopes: ["api.read"]))
        let error = try await expectError(.unsupported) { try await application.exchangeToken(parameters) }
        #expect(error.serverError == nil && setup.provider.count(of: .token) == 1)
        // A configuration that lists no grants says nothing.
        let silent = try TestSetup { $0.exchangesTokens = false }
        silent.provider.failAlways(.discovery, with: .changing("grant_types_supported", to: nil))
        let (other, second) = try await silent.signedIn()
        let refusal = try await expectError(.unsupported) {
            try await other.exchangeToken(.init(.accessToken(of: second.account, scopes: ["api.read"])))
        }
        #expect(refusal.serverError?.error == "unsupported_grant_type" && silent.provider.count(of: .token) == 2)
    }

    private static let unacceptable: [TokenExchangeParameters] =
        ["", "a b", "a\nb", "\u{e9}", "a\0b", String(repeating: "a", count: 65_537)].map {
            .init(.token(SecurityToken($0, type: .accessToken)))
        } + [
            .init(.token(SecurityToken("t", type: "access_token"))), .init(.token(SecurityToken("t", type: ""))),
            .init(.token(SecurityToken("t", type: "urn:a b"))),
            changed { $0.actor = SecurityToken("", type: .jwt) },
            changed { $0.actor = SecurityToken("a", type: "1:a") },
            changed { $0.requestedType = "jwt" },
            changed { $0.resources = ["api.example.test"] },
            changed { $0.resources = ["https://api.example.test/#a"] },
            changed { $0.resources = ["https://api.example.test/\n"] },
            changed { $0.audiences = ["a", ""] },
            changed { $0.audiences = ["a\0"] },
            changed { $0.scopes = ["a b"] },
        ]

    private static func changed(_ change: (inout TokenExchangeParameters) -> Void) -> TokenExchangeParameters {
        var parameters = TokenExchangeParameters(.token(SecurityToken("t", type: .jwt)))
        change(&parameters)
        return parameters
    }

    @Test(arguments: unacceptable.indices) func sendsNothingUnacceptable(_ index: Int) async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        try await expectError(.invalidArgument) { try await application.exchangeToken(Self.unacceptable[index]) }
        #expect(setup.provider.requests.isEmpty)
    }

    @Test func asksAPlainServerWithoutIDTokens() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let authority = try Authority.oauth2(
            .init(
                authorization: "https://login.example.test/authorize",
                token: "https://login.example.test/token"
            )
        )
        let application = try setup.application { $0.authority = authority }
        let subject = SecurityToken(first.accessToken, type: .accessToken)
        #expect(try await application.exchangeToken(.init(.token(subject))).tokenType == "Bearer")
        try await expectError(.unsupported) {
            try await application.exchangeToken(.init(.idToken(of: first.account)))
        }
    }

    @Test func endsAtTheDeadlineAndOnCancellation() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.requestTimeout = .milliseconds(100) }
        let parameters = TokenExchangeParameters(.accessToken(of: first.account, scopes: ["api.read"]))
        let gate = TestGate()
        setup.provider.failAlways(.token, with: .held(by: gate))
        try await expectError(.networkTimedOut) { try await application.exchangeToken(parameters) }
        let patient = try setup.application { $0.requestTimeout = .seconds(60) }
        let task = Task { try await patient.exchangeToken(parameters) }
        try await setup.provider.waitForRequest(.token, count: 3)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
    }
}
