// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Answers that deviate from the specifications: which are accepted, and from which providers.
@Suite(.timeLimit(.minutes(1)))
struct ProviderDeviationTests {
    private static let algorithms = "id_token_signing_alg_values_supported"

    /// FAPI 2's `invalid-alternate-alg`: the key fits, but the algorithm is not published.
    @Test(arguments: [#"["ES256"]"#, #"["HS256"]"#, "[]"])
    func refusesAnAlgorithmThatIsNotPublished(published: String) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing(Self.algorithms, to: published))
        let error = try await expectError(.invalidIDToken) { try await setup.signedIn() }
        #expect(error.message.contains("RS256") && error.message.contains("with the authority"))
        // The algorithms that the program names replace the published ones.
        let authority = try Authority.openIDConnect(
            issuer: "https://login.example.test",
            idTokenAlgorithms: ["RS256", "ES256"]
        )
        #expect(try await setup.signedIn { $0.authority = authority }.1.source == .identityProvider)
    }

    @Test func refusesAnAlgorithmThatTheProgramDoesNotName() async throws {
        let setup = try TestSetup()
        let authority = try Authority.openIDConnect(
            issuer: "https://login.example.test",
            idTokenAlgorithms: ["ES256"]
        )
        try await expectError(.invalidIDToken) { try await setup.signedIn { $0.authority = authority } }
        #expect(setup.provider.count(of: .discovery) == 1, "Nothing that is published can change it.")
    }

    @Test(arguments: [nil, #""RS256""#, "7"])
    func takesAnyAlgorithmWhereNoneIsPublished(published: String?) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing(Self.algorithms, to: published))
        #expect(try await setup.signedIn().1.source == .identityProvider)
    }

    /// An administrator chooses another algorithm while the earlier configuration is still cached, for up to a day.
    @Test func fetchesTheConfigurationAnewBeforeItRefusesAnAlgorithm() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.discovery, with: .changing(Self.algorithms, to: #"["ES256"]"#))
        #expect(try await setup.signedIn().1.source == .identityProvider)
        #expect(setup.provider.count(of: .discovery) == 2)
    }

    @Test(arguments: [[], ["HS256"], ["none"], ["RS256", "rs256"]])
    func namesOnlyAlgorithmsThatAreVerified(algorithms: [String]) {
        #expect(throws: AuthenticationError.self) {
            try Authority.openIDConnect(issuer: "https://h", idTokenAlgorithms: algorithms)
        }
    }

    /// LinkedIn omits the token type, and is used as a plain OAuth 2.0 server.
    @Test func needsATokenTypeButOfPlainOAuth() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.token, with: .changing("token_type", to: nil))
        let error = try await expectError(.malformedResponse) { try await setup.signedIn() }
        #expect(error.message.contains("token_type"))
        let plain = try Authority.oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
        #expect(try await setup.signedIn { $0.authority = plain }.1.tokenType == "Bearer")
    }

    @Test func refusesScopesInAnArray() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("scope", to: #"["api.read","openid"]"#))
        let error = try await expectError(.malformedResponse) { try await setup.signedIn() }
        #expect(error.message.contains("scope"))
    }

    @Test(arguments: [TestIdentityProvider.Profile.entra, .b2c])
    func refusesClientInfoOfAnotherPerson(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (_, first) = try await setup.signedIn()
        let homeTenant = try #require(first.account.id.rawValue.split(separator: ".").last)
        let other = #"{"uid":"bbbbbbbb-0000-4000-8000-000000000002","utid":"\#(homeTenant)"}"#
        setup.provider.failNext(
            .token,
            with: .changing("client_info", to: "\"\(Base64URL.encode(Array(other.utf8)))\"")
        )
        let tampering = IDTokenTampering.claim("tid", String(homeTenant))
        setup.provider.tamperNextIDToken(with: tampering)
        let application = try setup.application { $0.cache = InMemoryTokenCache() }
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("client_info"))
    }

    /// A program's own transport, such as one over URLSession, decompresses the body and leaves the header field in place.
    @Test func readsAnAnswerThatIsNamedCompressed() async throws {
        let setup = try TestSetup()
        let transport = NamingCompression(base: setup.provider.transport)
        #expect(try await setup.signedIn { $0.transport = transport }.1.source == .identityProvider)
    }

    private struct NamingCompression: HTTPTransport {
        let base: any HTTPTransport

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            var (response, body) = try await base.send(request, body: body)
            response.headerFields[.contentEncoding] = "gzip"
            return (response, body)
        }
    }

    @Test func demandsAnEssentialACR() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.claims = #"{"id_token":{"acr":{"essential":true,"values":["gold"]}}}"#
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.message.contains("acr"))
        setup.provider.tamperNextIDToken(with: .claim("acr", "gold"))
        #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
        parameters.claims = #"{"id_token":{"acr":{"values":["platinum"]}}}"#
        #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
    }

    /// The tokens are not given out; the new refresh token is kept.
    @Test func demandsTheEssentialACROfARefreshsClaims() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        parameters.claims = #"{"id_token":{"acr":{"essential":true,"values":["gold"]}}}"#
        let error = try await expectError(.claimsChallenge) {
            try await application.acquireTokenSilently(parameters)
        }
        #expect(error.claims == parameters.claims && error.message.contains("acr"))
        setup.provider.tamperNextIDToken(with: .claim("acr", "gold"))
        #expect(try await application.acquireTokenSilently(parameters).source == .identityProvider)
        parameters.claims = #"{"id_token":{"acr":{"values":["platinum"]}}}"#
        #expect(try await application.acquireTokenSilently(parameters).source == .identityProvider)
    }

    private func signOut(
        _ setup: TestSetup,
        _ authority: Authority? = nil
    ) async throws -> SignOutResult.Outcome {
        let (application, first) = try await setup.signedIn { if let authority { $0.authority = authority } }
        #expect(setup.provider.count(of: .discovery) == 1, "A sign-in reads one document.")
        var parameters = SignOutParameters()
        parameters.revokesTokens = true
        return try await application.signOut(first.account, parameters: parameters).revocation
    }

    /// As django-oauth-toolkit does.
    @Test func revokesWhereTheSecondDocumentSays() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.discovery, with: .changing("revocation_endpoint", to: nil))
        #expect(try await signOut(setup).word == "succeeded")
        #expect(setup.provider.count(of: .discovery) == 2 && setup.provider.count(of: .revocation) == 1)
    }

    @Test func revokesWhereTheProgramSays() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("revocation_endpoint", to: nil))
        let authority = try Authority.openIDConnect(
            issuer: "https://login.example.test",
            revocation: "https://login.example.test/revoke"
        )
        #expect(try await signOut(setup, authority).word == "succeeded")
        #expect(setup.provider.count(of: .discovery) == 1)
    }

    @Test func tellsWhyNothingWasRevoked() async throws {
        let unpublished = try TestSetup()
        unpublished.provider.failAlways(.discovery, with: .changing("revocation_endpoint", to: nil))
        #expect(try await signOut(unpublished).word == "unavailable")
        let refusing = try TestSetup()
        refusing.provider.failNext(.revocation, with: .refusal("unsupported_token_type"))
        #expect(try await signOut(refusing).word == "failed")
        let nothing = try TestSetup { $0.issuesRefreshTokens = false }
        #expect(try await signOut(nothing).word == "notNeeded")
        #expect(nothing.provider.count(of: .revocation) == 0)
    }

    @Test func doesNotBelieveASecondDocumentOfAnotherIssuer() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(
            .discovery,
            with: .changing("revocation_endpoint", to: nil),
            .changing("issuer", to: #""https://evil.example.test""#)
        )
        #expect(try await signOut(setup).word == "unavailable")
        #expect(setup.provider.count(of: .revocation) == 0)
    }
}
