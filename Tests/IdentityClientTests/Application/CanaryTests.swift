// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import OAuthWire
import Testing

@testable import IdentityCapture
@testable import IdentityClient

/// A secret that must not appear in descriptions, dumps, mirrors or errors.
@Suite struct CanaryTests {
    static let secret = "c4n4ry"

    private func everythingSaid(about value: Any) -> String {
        var text = "\(value)" + String(describing: value) + String(reflecting: value)
        dump(value, to: &text)
        appendMirror(of: value, to: &text, depth: 0)
        return text
    }

    private func appendMirror(of value: Any, to text: inout String, depth: Int) {
        guard depth < 8 else { return }
        for child in Mirror(reflecting: value).children {
            text += "\(child.label ?? ""): \(child.value)\n"
            appendMirror(of: child.value, to: &text, depth: depth + 1)
        }
    }

    private func account() -> Account {
        let profile = TenantProfile(tenantID: "t", localAccountID: "l", idTokenClaims: #"{"sub":"s"}"#)
        return Account(id: Account.ID(rawValue: "u.t"), environment: "h", username: "u", tenantProfiles: [profile])
    }

    private func result(_ persistence: AuthenticationResult.Persistence = .persisted) -> AuthenticationResult {
        AuthenticationResult(
            accessToken: Self.secret,
            expiresOn: Date(timeIntervalSince1970: 0),
            scopes: ["read"],
            account: account(),
            idToken: Self.secret + ".a.b",
            source: .cache,
            persistence: persistence,
            additionalMembers: ["device_secret": Self.secret]
        )
    }

    private func credentials() throws -> AccountCredentials {
        var credentials = Fixture.credentials(
            refreshToken: Self.secret,
            accessTokens: [Fixture.accessToken(Self.secret)]
        )
        credentials.profiles = [
            CachedProfile(
                realm: "r",
                localAccountID: "l",
                isHomeTenant: true,
                idToken: Fixture.idToken("{}") + Self.secret
            )
        ]
        return credentials
    }

    private func request() async throws -> AuthorizationRequest {
        var message = AuthorizationRequestMessage(
            clientID: "c",
            redirectURI: "http://127.0.0.1",
            scopes: ["read"],
            state: Self.secret,
            codeChallenge: "challenge"
        )
        message.nonce = Self.secret
        return AuthorizationRequest(
            url: try #require(URL(string: "https://h/?state=" + Self.secret)),
            redirectURI: try #require(URL(string: "http://127.0.0.1")),
            expiresOn: nil,
            validUntil: Date(timeIntervalSince1970: 0),
            message: message,
            parameters: InteractiveParameters(scopes: ["read"]),
            signIn: try await signIn(),
            proofKey: ProofKey(verifier: String(repeating: Self.secret, count: 8))
        )
    }

    /// A sign-in at a server that is not asked for its metadata.
    private func signIn() async throws -> SignIn {
        let authority = try Authority.oauth2(.init(authorization: "https://h/authorize", token: "https://h/token"))
        var configuration = ClientConfiguration(
            clientID: "c",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.clientSecret = ClientSecret(rawValue: Self.secret)
        let environment = FlowEnvironment(configuration)
        return try await SignIn(environment, environment.context(nil), at: nil, scopes: ["read"])
    }

    /// The checks do find a leaked secret.
    @Test func findsASecretThatIsShown() {
        struct Careless { let token: String }
        #expect(everythingSaid(about: [Careless(token: Self.secret)]).contains(Self.secret))
    }

    @Test func publicValuesShowNoSecret() async throws {
        let record = CacheRecord(bytes: try credentials().encoded())
        #expect(String(decoding: record.bytes, as: UTF8.self).contains(Self.secret))
        let cache = InMemoryTokenCache()
        let key = CacheKey(group: try CacheGroup("group"), kind: .account, name: "n")
        #expect(try await cache.replace(nil, with: record, for: key))
        var configuration = ClientConfiguration(clientID: "c", authority: try .entra(), cache: cache)
        configuration.cacheGroup = key.group
        let application = try PublicClientApplication(configuration)
        #expect(try await application.environment.store.allSnapshots().snapshots.count == 1)
        let redirect = ReceivedRedirect(url: try #require(URL(string: "http://127.0.0.1/?code=" + Self.secret)), id: 1)
        let failure = AuthenticationError(.cache, "m", underlyingError: AuthenticationError(.cacheFull, "n"))
        let token = SecurityToken(Self.secret, type: .jwt)
        var exchange = TokenExchangeParameters(.token(token))
        exchange.actor = token
        let values: [Any] = [
            token, exchange,
            TokenExchangeResult(token: token, expiresOn: nil),
            result(), result(.failed(failure)), account(), record, [key: record], cache, configuration, application,
            try await request(), redirect,
            AuthenticationResult.Persistence.failed(failure), failure, ProofKey(verifier: Self.secret),
            InteractiveParameters(scopes: ["read"]), SilentParameters(scopes: ["read"], account: account()),
            Scope.openID,
            configuration.authority, RedirectURI.loopback, FileTokenCache(), LoopbackRedirectReceiver(),
            SystemBrowserLauncher(),
            CurlTransport(), RedirectPage(outcome: .succeeded), SystemClock(), SignInPrompt.login,
            configuration.clientID,
        ]
        for value in values {
            #expect(!everythingSaid(about: value).contains(Self.secret), "\(type(of: value))")
        }
    }

    @Test func optionalsAndCollectionsShowNoSecret() throws {
        let values: [Any] = [
            Optional(result()) as Any, [result()], ["key": result()], (result(), 1),
            Result<AuthenticationResult, any Error>.success(result()),
        ]
        for value in values { #expect(!everythingSaid(about: value).contains(Self.secret)) }
    }

    /// Content that the server sends beside or instead of the expected answer.
    private static let answers: [(Int, String)] = [
        (200, #"{"access_token":"c4n4ry","token_type":7,"refresh_token":"c4n4ry","id_token":"c4n4ry"}"#),
        (200, #"{"access_token":"c4n4ry x","token_type":"Bearer"}"#),
        (200, #"{"access_token":"c4n4ry","token_type":"Bearer","expires_in":"c4n4ry"}"#), (200, "c4n4ry"),
        (200, #"{"c4n4ry":1,"c4n4ry":2}"#),
        (200, #"{"error":"invalid_grant","access_token":"c4n4ry","refresh_token":"c4n4ry"}"#),
        (400, #"{"error":"invalid_grant","code":"c4n4ry"}"#),
        (400, "<html>c4n4ry</html>"), (500, "c4n4ry"), (302, "c4n4ry"), (429, #"{"refresh_token":"c4n4ry"}"#),
    ]

    @Test(arguments: answers)
    func errorsMadeFromAnswersShowNoSecret(status: Int, body: String) {
        for grant in [GrantType.refreshToken, .authorizationCode, .tokenExchange] {
            let outcome = EndpointOutcome<TokenResponse>(
                HTTPResponse(status: .init(code: status)),
                Array(body.utf8),
                grant: grant,
                now: Fixture.now,
                context: Fixture.context
            )
            switch outcome {
            case .accepted(let response):
                #expect(response.fault.map { "\($0)" }?.contains(Self.secret) == false)
            case .refused(let error), .ambiguous(let error):
                #expect(!everythingSaid(about: error).contains(Self.secret))
            }
        }
    }

    @Test(arguments: answers) func capturesOfAnswersShowNoSecret(status: Int, body: String) throws {
        let capture = ExchangeCapture()
        var request = HTTPRequest(method: .post, scheme: "https", authority: "h", path: "/token?code=" + Self.secret)
        request.headerFields[.authorization] = "Basic " + Self.secret
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[.location] = "https://h/" + Self.secret
        response.headerFields[.contentType] = "text/html; " + Self.secret
        let form = """
            grant_type=authorization_code&client_secret=\(Self.secret)&\(Self.secret)=1&subject_token=\(Self.secret)\
            &actor_token=\(Self.secret)
            """
        capture.note(
            request,
            body: Array(form.utf8),
            took: .zero,
            .success((response, Array(body.utf8))),
            Fixture.context.correlationID
        )
        let text = String(decoding: capture.json(), as: UTF8.self)
        #expect(text.contains("authorization_code") && text.contains(#""status":\#(status)"#))
        #expect(!text.contains(Self.secret), "\(text)")
        #expect(!everythingSaid(about: capture).contains(Self.secret))
    }

    @Test(arguments: [#"{"secret":"c4n4ry""#, #"{"c4n4ry":"#, #"{"v":1,"incarnation":["c4n4ry"]}"#, "c4n4ry"])
    func errorsMadeFromDamagedRecordsShowNoSecret(text: String) async throws {
        let store = CredentialStore(cache: InMemoryTokenCache(), group: try CacheGroup("group"), clientID: "c")
        let key = store.key(for: RecordID(partition: "p", accountID: "a"))
        let error = await #expect(throws: AuthenticationError.self) {
            try await store.decode(CacheRecord(bytes: Array(text.utf8)), key: key)
        }
        #expect(!everythingSaid(about: try #require(error)).contains(Self.secret))
    }

    @Test(arguments: ["c4n4ry", "c4n4ry.c4n4ry.c4n4ry", "a.b.c4n4ry"]) func errorsMadeFromIDTokensShowNoSecret(
        token: String
    ) throws {
        let error = #expect(throws: (any Error).self) { try JSONWebToken(compact: token) }
        #expect(!everythingSaid(about: IDTokenExpectation.refused("\(try #require(error))")).contains(Self.secret))
    }

    @Test func keysRevealNobody() {
        let key = RecordID(partition: "oidc|https://c4n4ry", accountID: "c4n4ry").key(
            in: CacheGroup.application("c4n4ry"),
            clientID: "c4n4ry"
        )
        #expect(!everythingSaid(about: key).contains(Self.secret))
        #expect(key.name.utf8.count == 64 && key.lease.name == key.name && key.lease.kind == .lease)
    }
}
