// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Questions to the provider about an account's access token (RFC 7662).
@Suite(.timeLimit(.minutes(1)))
struct IntrospectionTests {
    private typealias Fault = TestIdentityProvider.Fault

    private static func answer(_ body: String, status: Int = 200) -> Fault {
        .answer(status: status, headers: [("Content-Type", "application/json")], body: body)
    }

    @Test func tellsAboutTheTokenInTheCache() async throws {
        let setup = try TestSetup()
        let (application, result) = try await setup.signedIn()
        let told = try await application.introspectToken(of: result.account, scopes: ["api.read"])
        #expect(told.isActive && told.scopes?.contains("api.read") == true && told.clientID == "test-client")
        #expect(told.username == "alice@example.test" && told.subject == "subject-alice")
        #expect(told.tokenType == "Bearer" && told.expiresOn == result.expiresOn)
        #expect(told.issuer == "https://login.example.test")
        #expect(told.issuedOn == nil && told.notBefore == nil && told.audiences == nil && told.tokenID == nil)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .introspection })
        #expect(sent["token"] == result.accessToken && sent["token_type_hint"] == "access_token")
        #expect(setup.provider.count(of: .token) == 1)
        // It is told as it is, not renewed.
        setup.provider.revokeSessions(of: .alice)
        let gone = try await application.introspectToken(of: result.account, scopes: ["api.read"])
        #expect(!gone.isActive && gone.expiresOn == nil && gone.json == #"{"active":false}"#)
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func asksAboutARenewedTokenIfTheOldOneHasExpired() async throws {
        let setup = try TestSetup()
        let (application, result) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        #expect(try await application.introspectToken(of: result.account, scopes: ["api.read"]).isActive)
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func readsEveryMemberOfAnActiveToken() async throws {
        let setup = try TestSetup()
        let (application, result) = try await setup.signedIn()
        let body =
            #"{"active":true,"iat":1.9,"nbf":2,"exp":3,"aud":["a","b"],"jti":"j","scope":"a  b","username":null}"#
        setup.provider.failNext(.introspection, with: Self.answer(body))
        let told = try await application.introspectToken(of: result.account, scopes: ["api.read"])
        #expect(told.issuedOn == Date(timeIntervalSince1970: 1) && told.notBefore == Date(timeIntervalSince1970: 2))
        #expect(
            told.audiences == ["a", "b"] && told.tokenID == "j" && told.scopes == ["a", "b"] && told.username == nil
        )
        var dumped = ""
        dump(told, to: &dumped)
        #expect("\(told)" == "TokenIntrospection(isActive: true)" && !dumped.contains("jti"))
        // Nothing else counts if the token is not active.
        setup.provider.failNext(.introspection, with: Self.answer(#"{"active":false,"exp":"no","aud":7}"#))
        #expect(try await !application.introspectToken(of: result.account, scopes: ["api.read"]).isActive)
    }

    private static let refused: [(AuthenticationError.Code, Fault)] = [
        (.malformedResponse, answer("{}")), (.malformedResponse, answer(#"{"active":"true"}"#)),
        (.malformedResponse, answer(#"{"active":null}"#)), (.malformedResponse, answer(#"{"active":1}"#)),
        (.malformedResponse, answer(#"{"active":true,"active":true}"#)), (.malformedResponse, answer("[]")),
        (.malformedResponse, answer(#"{"active":true,"exp":"1"}"#)),
        (.malformedResponse, answer(#"{"active":true,"exp":-1}"#)),
        (.malformedResponse, answer(#"{"active":true,"exp":1e300}"#)),
        (.malformedResponse, answer(#"{"active":true,"scope":["a"]}"#)),
        (.malformedResponse, answer(#"{"active":true,"aud":[1]}"#)),
        (.malformedResponse, answer(#"{"active":true,"client_id":7}"#)),
        (.malformedResponse, answer(#"{"active":true}"#, status: 201)), (.malformedResponse, .html),
        (.malformedResponse, .notUTF8), (.malformedResponse, .oversized(bytes: 2 << 20)),
        (.malformedResponse, .redirect(to: "https://login.example.test/other", status: 302)),
        (.serverUnavailable, .serverError()), (.throttled, .throttled(retryAfter: .seconds(7))),
        (.connectionFailed, .drop), (.clientNotRegistered, answer("", status: 401)),
        (.clientNotRegistered, answer("", status: 403)),
        (.clientNotRegistered, .refusal("invalid_client", status: 401)),
        (.clientNotRegistered, .refusal("unauthorized_client")),
    ]

    @Test(arguments: refused)
    func refusesWhatIsNoAnswer(_ code: AuthenticationError.Code, _ fault: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup()
        let (application, result) = try await setup.signedIn()
        setup.provider.failNext(.introspection, with: fault)
        let error = try await expectError(code) {
            try await application.introspectToken(of: result.account, scopes: ["api.read"])
        }
        #expect(!"\(error)".contains(result.accessToken) && !error.message.contains(result.accessToken))
        #expect(setup.provider.count(of: .introspection) == 1 && setup.provider.count(of: .token) == 1)
    }

    @Test func aProviderMayAnswerOnlyClientsWithASecret() async throws {
        let setup = try TestSetup { $0.introspection = .clientsWithSecret }
        let (application, result) = try await setup.signedIn()
        let error = try await expectError(.clientNotRegistered) {
            try await application.introspectToken(of: result.account, scopes: ["api.read"])
        }
        #expect(error.message.contains("secret") && error.serverError?.error == "invalid_client")
    }

    @Test(arguments: [
        (nil, AuthenticationError.Code.unsupported), ("7", .unsupported),
        (#""http://login.example.test/introspect""#, .untrustedAuthority), (#""no address""#, .untrustedAuthority),
    ])
    func needsAnEndpointThatMayGetAToken(_ published: String?, _ code: AuthenticationError.Code) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("introspection_endpoint", to: published))
        let (application, result) = try await setup.signedIn()
        try await expectError(code) {
            try await application.introspectToken(of: result.account, scopes: ["api.read"])
        }
        #expect(setup.provider.count(of: .introspection) == 0 && setup.provider.count(of: .token) == 1)
    }
}
