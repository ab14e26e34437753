// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Tokens that are bound to a key, from the request to the header.
@Suite(.timeLimit(.minutes(1)))
struct ProofOfPossessionTests {
    private static let request = HTTPRequest(
        method: .post,
        scheme: "HTTPS",
        authority: "API.example.com:443",
        path: "/v1/a%2Fb?x=1"
    )

    private func parameters(_ account: Account, _ scheme: AuthenticationScheme = .pop) -> SilentParameters {
        var parameters = SilentParameters(scopes: ["api.read"], account: account)
        parameters.scheme = scheme
        return parameters
    }

    private func claims(_ header: String) throws -> (header: JSONObject, claims: JSONObject) {
        #expect(header.hasPrefix("PoP "))
        let token = try JSONWebToken(compact: String(header.dropFirst(4)))
        let key = try #require(token.claims.object("cnf")?.object("jwk").flatMap { JSONWebKey($0) })
        #expect(key.verifies(token.signature, of: token.signingInput, with: .ps256))
        return (token.header, token.claims)
    }

    @Test func bindsTheTokenToAKeyAndSignsARequestWithIt() async throws {
        let setup = try TestSetup(.entra)
        let (application, signedIn) = try await setup.signedIn()
        #expect(signedIn.scheme == .bearer && signedIn.tokenType == "Bearer")
        let result = try await application.acquireTokenSilently(parameters(signedIn.account))
        #expect(result.scheme == .pop && result.tokenType == "PoP" && result.source == .identityProvider)
        #expect(result.authorizationHeader.isEmpty)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["token_type"] == "pop")
        let confirmation = try #require(sent["req_cnf"].flatMap { Base64URL.decode($0) })
        let keyID = try #require(try JSONObject(parsing: confirmation).string("kid"))
        #expect(setup.provider.introspect(accessToken: result.accessToken)?.keyID == keyID)

        let text = try result.authorizationHeader(for: Self.request, nonce: "n1", at: 1_764_104_400)
        let (header, claims) = try claims(text)
        #expect(header.string("kid") == keyID && header.string("typ") == "pop" && header.string("alg") == "PS256")
        #expect(claims.string("at") == result.accessToken && claims.integer("ts") == 1_764_104_400)
        #expect(claims.string("m") == "POST" && claims.string("u") == "api.example.com")
        #expect(claims.string("p") == "/v1/a%2Fb" && claims.string("nonce") == "n1")
        #expect(claims.array("q")?.first == .strings(["x"]))
        #expect(claims.object("cnf")?.object("jwk")?.members.map(\.name) == ["e", "kty", "n"])
    }

    @Test func givesEachRequestTheTokenOfItsScheme() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let bound = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(bound.accessToken != bearer.accessToken)
        let requests = setup.provider.count(of: .token)
        for program in [application, try setup.application()] {
            let first = try await program.acquireTokenSilently(parameters(bearer.account))
            #expect(first.accessToken == bound.accessToken && first.source == .cache && first.scheme == .pop)
            #expect(try first.authorizationHeader(for: Self.request).hasPrefix("PoP "))
            let second = try await program.acquireTokenSilently(parameters(bearer.account, .bearer))
            #expect(second.accessToken == bearer.accessToken && second.source == .cache)
            #expect(try second.authorizationHeader(for: Self.request) == "Bearer \(bearer.accessToken)")
        }
        #expect(setup.provider.count(of: .token) == requests)
        // Renewing one leaves the other.
        var forced = parameters(bearer.account)
        forced.forcesRefresh = true
        let renewed = try await application.acquireTokenSilently(forced)
        #expect(renewed.accessToken != bound.accessToken)
        let kept = try await application.acquireTokenSilently(parameters(bearer.account, .bearer))
        #expect(kept.accessToken == bearer.accessToken && kept.source == .cache)
    }

    @Test func doesNotUseTheTokensOfALostKey() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let bound = try await application.acquireTokenSilently(parameters(bearer.account))
        let name = application.environment.possessionKeys.name
        let before = try await setup.cache.record(for: name)
        #expect(try await setup.cache.replace(before, with: nil, for: name))
        let renewed = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(renewed.source == .identityProvider && renewed.accessToken != bound.accessToken)
        let old = try claims(bound.authorizationHeader(for: Self.request)).header.string("kid")
        #expect(try claims(renewed.authorizationHeader(for: Self.request)).header.string("kid") != old)
    }

    @Test func aProgramSignsInForABoundTokenAtOnce() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        var wanted = InteractiveParameters(scopes: ["api.read"])
        wanted.scheme = .pop
        let result = try await application.acquireTokenInteractively(wanted)
        #expect(result.scheme == .pop && setup.provider.introspect(accessToken: result.accessToken)?.keyID != nil)
        #expect(try result.authorizationHeader(for: Self.request).hasPrefix("PoP "))
        let hit = try await application.acquireTokenSilently(parameters(result.account))
        #expect(hit.accessToken == result.accessToken && hit.source == .cache)
        let bearer = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(bearer.accessToken != result.accessToken && bearer.scheme == .bearer)
        // What a program pastes is finished in the same way.
        let request = try await application.prepareAuthorization(wanted)
        let keyID = setup.provider.introspect(accessToken: result.accessToken)?.keyID
        #expect(request.signIn.proof?.binding.keyID == keyID)
    }

    @Test func aDeviceCodeGivesABoundToken() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        var wanted = DeviceCodeParameters(scopes: ["api.read"])
        wanted.scheme = .pop
        let provider = setup.provider
        let task = Task { [wanted] in
            try await application.acquireTokenWithDeviceCode(wanted) { prompt in
                provider.approveDevice(userCode: prompt.userCode, as: .alice)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        let result = try await task.value
        #expect(result.scheme == .pop && provider.introspect(accessToken: result.accessToken)?.keyID != nil)
        #expect(try result.authorizationHeader(for: Self.request).hasPrefix("PoP "))
    }

    @Test func sharesNoRefreshBetweenSchemes() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let wanted = parameters(bearer.account)
        _ = try await application.acquireTokenSilently(wanted)  // makes the key
        let (task, gate) = try await setup.heldRefresh(by: application, for: bearer.account)
        let bound = Task.immediate { try await application.acquireTokenSilently(wanted) }
        gate.open()
        let tokens = (try await task.value, try await bound.value)
        #expect(tokens.0.scheme == .bearer && tokens.1.scheme == .pop && tokens.0.accessToken != tokens.1.accessToken)
    }

    /// The refusal of a bound token says nothing of other tokens.
    @Test func refusesNoBearerTokenBecauseABoundOneWasRefused() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        try await expectError(.signInExpired) { try await application.acquireTokenSilently(parameters(first.account)) }
        let next = try await application.acquireTokenSilently(parameters(first.account, .bearer))
        #expect(next.source == .identityProvider)
    }

    /// A program would otherwise believe that its token is bound.
    @Test func refusesABearerTokenInstead() async throws {
        let setup = try TestSetup()
        let (application, bearer) = try await setup.signedIn()
        try await expectError(.unsupported) { try await application.acquireTokenSilently(parameters(bearer.account)) }
        // The refresh token of that answer is kept, and the account stays signed in.
        var forced = parameters(bearer.account, .bearer)
        forced.forcesRefresh = true
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)

        let fresh = try TestSetup()
        var wanted = InteractiveParameters(scopes: ["api.read"])
        wanted.scheme = .pop
        let other = try fresh.application()
        try await expectError(.unsupported) { try await other.acquireTokenInteractively(wanted) }
        #expect(try await fresh.storedCredentials(of: other).isEmpty)
    }

    @Test func refusesABoundTokenThatWasNotAskedFor() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let answer = #"{"token_type":"pop","access_token":"x","expires_in":3600}"#
        let json = [("Content-Type", "application/json")]
        setup.provider.failNext(.token, with: .answer(status: 200, headers: json, body: answer))
        var forced = parameters(bearer.account, .bearer)
        forced.forcesRefresh = true
        try await expectError(.malformedResponse) { try await application.acquireTokenSilently(forced) }
    }

    @Test(arguments: [
        ("https", "api.example.com", "/a\r\nX-Injected: 1"), ("https", "api.example.com\r\nX: y", "/"),
        ("https", "api.example.com", "/a b"), ("https", "api.example.com", "/a#fragment"),
        ("https", "api.example.com", "/ä"), ("https", "name:word@api.example.com", "/"),
        ("https", "api.example.com/other", "x"), ("https", "api.example.com", ".test/"),
        ("https", "api.example.com/other", "/"), ("https", "api.example.com?x=", "/"), ("http", "api.example.com", "/"),
        ("ftp", "api.example.com", "/"),
        ("https", "", "/"), ("https", "api.example.com", "/" + String(repeating: "a", count: 8192)),
        ("https", "api.example.com", "/a\u{0}"),
    ])
    func signsNoRequestToAnAddressThatTwoReadersCouldUnderstandDifferently(
        scheme: String,
        authority: String,
        path: String
    ) async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let result = try await application.acquireTokenSilently(parameters(bearer.account))
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        // The type of requests keeps line breaks out by itself; what it makes of them is signed or refused, and no more.
        if let header = try? result.authorizationHeader(for: request) {
            let claims = try claims(header).claims
            #expect(
                try #require(claims.string("p")).utf8.areVisible && claims.string("u") == "api.example.com"
            )
            #expect(
                path.contains("\r") || authority.contains("\r") || path.contains("\u{0}"),
                "\(scheme) \(authority) \(path)"
            )
        } else {
            try await expectError(.invalidArgument) { try result.authorizationHeader(for: request) }
        }
    }

    @Test func signsThePort() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let result = try await application.acquireTokenSilently(parameters(bearer.account))
        let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com:8443", path: "/")
        #expect(try claims(result.authorizationHeader(for: request)).claims.string("u") == "api.example.com:8443")
    }

    @Test func noMethodIsMoreThanOneWord() {
        for method in ["GET /\r\nX: y", "GET ", "", "G\u{0}T"] { #expect(HTTPRequest.Method(rawValue: method) == nil) }
    }

    @Test(arguments: ["", "a b", "a\nb", "ä"]) func signsNoStrangeNonce(nonce: String) async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        let result = try await application.acquireTokenSilently(parameters(bearer.account))
        try await expectError(.invalidArgument) { try result.authorizationHeader(for: Self.request, nonce: nonce) }
    }

    @Test func signsNothingWithoutAKey() async throws {
        let account = Account(id: Account.ID(rawValue: "a"), environment: "e")
        let result = AuthenticationResult(
            accessToken: "t",
            tokenType: "PoP",
            expiresOn: .distantFuture,
            scopes: [],
            account: account,
            source: .cache
        )
        try await expectError(.invalidArgument) { try result.authorizationHeader(for: Self.request) }
    }

    @Test func readsTheNonceOfAnAnswer() {
        var fields = HTTPFields()
        #expect(AuthenticationScheme.nonce(in: fields) == nil)
        fields[.authenticationInfo] = #"nextnonce="later""#
        #expect(AuthenticationScheme.nonce(in: fields) == "later")
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Bearer"))
        fields.append(HTTPField(name: .wwwAuthenticate, value: #"PoP nonce="now""#))
        #expect(AuthenticationScheme.nonce(in: fields) == "now")
    }
}
