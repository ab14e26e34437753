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

    @Test func readsScopesInAnArray() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("scope", to: #"["api.read","openid"]"#))
        #expect(try await setup.signedIn().1.scopes == ["api.read", "openid"])
    }

    private static func plain() throws -> Authority {
        try .oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
    }

    /// Apigee and Slack, used as plain OAuth 2.0 servers.
    @Test(arguments: [("BearerToken", true), ("bot", true), ("User", true), ("mac", false), ("DPoP", false)])
    func readsOtherNamesOfBearerTokens(_ type: String, _ isAccepted: Bool) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.token, with: .changing("token_type", to: "\"\(type)\""))
        try await expectError(.malformedResponse) { try await setup.signedIn() }
        let plain = try Self.plain()
        let result = try? await setup.signedIn { $0.authority = plain }.1
        #expect(result?.tokenType == (isAccepted ? "Bearer" : nil))
    }

    /// VK and others write this for a token that does not expire.
    @Test(arguments: ["0", "-1", #""0""#], [false, true])
    func aLifetimeOfNothingIsNotStated(_ json: String, _ hasRefreshToken: Bool) async throws {
        let setup = try TestSetup { $0.issuesRefreshTokens = hasRefreshToken }
        setup.provider.failAlways(.token, with: .changing("expires_in", to: json))
        let plain = try Self.plain()
        let scopes: Set<Scope> = hasRefreshToken ? ["api.read", .offlineAccess] : ["api.read"]
        let (application, first) = try await setup.signedIn(scopes: scopes) { $0.authority = plain }
        let seconds = hasRefreshToken ? 3600.0 : 315_360_000
        #expect(first.expiresOn == setup.clock.now.addingTimeInterval(seconds))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .cache)
    }

    /// The scope that is asked for, the answer's, and whether it is granted, at Entra ID.
    @Test(
        arguments: [
            ("https://api/user_impersonation", "user_impersonation", true),
            ("User.Read", "https://graph/User.Read", true),
            ("https://graph/User.Read", "profile user.read", true),
            ("https://arm//.default", "https://arm/.default", true),
            ("https://graph/.default", "openid https://graph/User.Read https://graph/Mail.Read", true),
            ("https://graph/.default", "User.Read", true), ("https://api/Read", "https://api/Read/", true),
            ("11111111-0000-4000-8000-000000000001", "/", true),
            ("https://graph/User.Read", "https://other/User.Read", false),
            ("https://graph/User.Read", "Mail.Read", false),
            ("https://graph/.default", "https://other/User.Read", false), ("User.Read", "/", false),
            ("User.Read", "openid", false),
        ]
    )
    func readsGrantedScopesInAnotherSpelling(asked: String, granted: String, isGranted: Bool) async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failAlways(.token, with: .changing("scope", to: "\"\(granted)\""))
        let scope = Scope(rawValue: asked)
        guard isGranted else {
            try await expectError(.scopesDeclined) { try await setup.signedIn(scopes: [scope]) }
            return
        }
        let (application, first) = try await setup.signedIn(scopes: [scope])
        #expect(first.declinedScopes.isEmpty)
        let hit = try await application.acquireTokenSilently(scopes: [scope], account: first.account)
        #expect(hit.source == .cache && hit.declinedScopes.isEmpty)
    }

    /// A token is for one API: a name that two of the requested scopes have does not tell which of them was granted.
    @Test func aShortNameOfTwoScopesGrantsNone() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failAlways(.token, with: .changing("scope", to: #""Read""#))
        try await expectError(.scopesDeclined) {
            try await setup.signedIn(scopes: ["https://a/Read", "https://b/Read"])
        }
    }

    @Test func spellingCountsElsewhere() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.token, with: .changing("scope", to: #""read openid""#))
        try await expectError(.scopesDeclined) { try await setup.signedIn(scopes: ["https://api/read"]) }
    }

    /// GitHub leaves out what a wider scope contains.
    @Test(arguments: [("user:email", true), ("users:email", false), ("mail", false), ("User:email", false)])
    func aWiderScopeGrantsANarrowerOne(asked: String, isGranted: Bool) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.token, with: .changing("scope", to: #""user,gist""#))
        let plain = try Self.plain()
        let result = try? await setup.signedIn(scopes: [Scope(rawValue: asked)]) { $0.authority = plain }.1
        #expect((result != nil) == isGranted && result?.declinedScopes.isEmpty != false)
    }

    @Test func saysThatAnIDTokenIsEncrypted() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("id_token", to: #""e30.AA.AA.AA.AA""#))
        let error = try await expectError(.invalidIDToken) { try await setup.signedIn() }
        #expect(error.message.contains("encrypted"))
    }

    /// Some providers give a refresh token only with consent (OpenID Connect Core §11).
    @Test(arguments: [false, true])
    func saysThatNoRefreshTokenCame(_ issuesRefreshTokens: Bool) async throws {
        let setup = try TestSetup { $0.issuesRefreshTokens = issuesRefreshTokens }
        let (application, first) = try await setup.signedIn()
        #expect(first.hasRefreshToken == issuesRefreshTokens)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.hasRefreshToken)
        let unasked = try await setup.signedIn { $0.compatibility.defaultScopes = ["openid"] }.1
        #expect(unasked.hasRefreshToken)
    }

    /// A document that carries no secret may have moved within the origin.
    @Test(arguments: [TestIdentityProvider.Endpoint.discovery, .keys], [301, 302, 303, 307, 308])
    func followsARedirectWithinTheOrigin(_ endpoint: TestIdentityProvider.Endpoint, _ status: Int) async throws {
        let setup = try TestSetup()
        let path = endpoint == .keys ? "/keys" : "/.well-known/openid-configuration"
        setup.provider.failNext(endpoint, with: .redirect(to: "\(path)?again", status: status))
        #expect(try await setup.signedIn().1.source == .identityProvider)
        #expect(setup.provider.count(of: endpoint) == 2)
    }

    @Test(arguments: [
        ("https://evil.example.test/x", 1), ("http://login.example.test/x", 1), ("https://login.example.test:444/x", 1),
        ("//evil.example.test/x", 1), ("/.well-known/openid-configuration", 4),
    ])
    func followsNoOtherRedirect(_ target: String, _ requests: Int) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .redirect(to: target))
        let error = try await expectError(.malformedResponse) { try await setup.signedIn() }
        #expect(error.message.contains(target.drop { $0 == "/" }.split(separator: "?")[0]))
        #expect(setup.provider.count(of: .discovery) == requests)
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" })
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
