// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Providers that issue a secret to installed programs and refuse token requests without it.
@Suite(.timeLimit(.minutes(1)))
struct ClientSecretScenarioTests {
    private static let secret = ClientSecret(rawValue: "not so: secret/+é")
    /// Computed by hand: `test-client:not%20so%3A%20secret%2F%2B%C3%A9` in base64 (RFC 6749 §2.3.1).
    private static let basic = "Basic dGVzdC1jbGllbnQ6bm90JTIwc28lM0ElMjBzZWNyZXQlMkYlMkIlQzMlQTk="

    private func setup(_ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }) throws -> TestSetup {
        try TestSetup(clients: [TestIdentityProvider.Client(secret: Self.secret)], change)
    }

    /// The published methods, and whether HTTP Basic is the only choice.
    static let published: [(String?, Bool)] = [
        (#"["client_secret_basic"]"#, true), (#"["none","client_secret_basic"]"#, true),
        (#"["client_secret_basic","client_secret_post"]"#, false), (#"["client_secret_post"]"#, false), ("[]", false),
        // The member's default (OpenID Connect Discovery §3).
        ("7", false), (nil, true),
    ]

    @Test(arguments: published)
    func everyRequestButTheBrowsersHasItWhereTheProviderWantsIt(_ methods: String?, _ isBasic: Bool) async throws {
        let setup = try setup { $0.pushedAuthorizationRequests = .required }
        setup.provider.failAlways(.discovery, with: .changing("token_endpoint_auth_methods_supported", to: methods))
        let application = try setup.application { $0.clientSecret = Self.secret }
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        setup.clock.advance(by: .seconds(3600))
        let second = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(second.source == .identityProvider && second.accessToken != first.accessToken)
        setup.provider.failNext(.deviceAuthorization, with: .refusal("invalid_scope"))
        try await expectError(.invalidScope) {
            try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["api.read"])) { _ in }
        }
        var ending = SignOutParameters()
        ending.revokesTokens = true
        let signOut = try await application.signOut(first.account, parameters: ending)
        guard case .succeeded = signOut.revocation else { throw MissingError() }

        let pushed = TestIdentityProvider.Endpoint.pushedAuthorization
        for endpoint in [.token, .deviceAuthorization, .revocation, pushed] {
            let requests = setup.provider.requests.filter { $0.endpoint == endpoint }
            #expect(!requests.isEmpty)
            for request in requests {
                #expect(request.header("Authorization") == (isBasic ? Self.basic : nil), "\(endpoint)")
                #expect(request["client_secret"] == (isBasic ? nil : Self.secret.rawValue), "\(endpoint)")
                // The client is named once, except in the authorization request, which contains it as a parameter.
                #expect(request["client_id"] == (isBasic && endpoint != pushed ? nil : "test-client"), "\(endpoint)")
            }
        }
        // The browser keeps its addresses in its history, so they must not contain the secret.
        #expect(
            setup.provider.requests.allSatisfy { request in request.query.allSatisfy { $0.name != "client_secret" } }
        )
    }

    @Test(arguments: [nil, ClientSecret(rawValue: "another")])
    func saysThatItIsMissingOrWrong(_ secret: ClientSecret?) async throws {
        let application = try setup().application { $0.clientSecret = secret }
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error?.code == .clientNotRegistered, "\(String(describing: error))")
    }

    /// Reddit's public clients: HTTP Basic with an empty password, whatever the server publishes.
    @Test func anEmptySecretIsAnEmptyPassword() async throws {
        let setup = try TestSetup()
        let application = try setup.application { $0.clientSecret = ClientSecret(rawValue: "") }
        _ = try? await application.acquireTokenInteractively(scopes: ["api.read"])
        let request = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(request.header("Authorization") == "Basic dGVzdC1jbGllbnQ6")  // `test-client:`
        #expect(request["client_id"] == nil && request["client_secret"] == nil)
    }

    /// The programs of a group sign each other's accounts out.
    @Test func isNotShownWithATokenOfAnotherClient() async throws {
        let (group, other) = (try CacheGroup("com.example.suite"), "second-client" as ClientID)
        let clients = [
            TestIdentityProvider.Client(secret: Self.secret), TestIdentityProvider.Client(id: other),
        ]
        let setup = try TestSetup(clients: clients)
        let (_, first) = try await setup.signedIn {
            $0.clientID = other
            $0.cacheGroup = group
        }
        let application = try setup.application {
            $0.clientSecret = Self.secret
            $0.cacheGroup = group
        }
        var ending = SignOutParameters()
        ending.revokesTokens = true
        _ = try await application.signOut(first.account, parameters: ending)
        let request = try #require(setup.provider.requests.last { $0.endpoint == .revocation })
        #expect(request["client_id"] == other.rawValue)
        #expect(request["client_secret"] == nil && request.header("Authorization") == nil)
    }

    @Test func refusesWhatIsNone() throws {
        let error = #expect(throws: AuthenticationError.self) {
            try setup().application { $0.clientSecret = ClientSecret(rawValue: String(repeating: "x", count: 1025)) }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func showsItNowhere() throws {
        let configuration = try setup().application { $0.clientSecret = ClientSecret(rawValue: "not so secret") }
            .configuration
        var dumped = ""
        dump(configuration.clientSecret, to: &dumped)
        dumped += "\(configuration) \(String(reflecting: configuration.clientSecret))"
        #expect(!dumped.contains("not so"))
    }
}
