// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// OAuth 2.0 servers that are known by their issuer alone (RFC 8414).
@Suite struct AuthorizationServerTests {
    private static func document(_ issuer: String, _ more: String) -> String {
        """
        {"issuer":"\(issuer)","authorization_endpoint":"https://h/authorize","token_endpoint":"https://h/token"\(more)}
        """
    }

    private static let pkce = #","code_challenge_methods_supported":["plain","S256"]"#

    @Test(
        arguments: [
            ("https://h", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
            ("https://h/", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
            (
                "https://h/p/q/",
                [
                    "/.well-known/oauth-authorization-server/p/q", "/.well-known/openid-configuration/p/q",
                    "/p/q/.well-known/openid-configuration",
                ]
            ),
        ]
    )
    func looksWhereTheMetadataMayStand(_ issuer: String, _ paths: [String]) throws {
        let authority = try Authority.oauth2(issuer: issuer)
        #expect(authority.configurationURLs == paths.map { "https://h" + $0 })
        #expect(authority.partition == "oauth2-issuer|" + issuer && authority.description == issuer)
        #expect(!authority.issuesIDTokens && !authority.scopeRule.ignoresCase)
        #expect(!Authority.scopeRule(forPartition: authority.partition).ignoresCase)
        #expect(try Authority(partition: authority.partition) == authority)
    }

    @Test(arguments: ["http://h", "h", "https://h?x=y", "https://h#x", "https://u@h"])
    func takesNoOtherAddress(_ issuer: String) async throws {
        try await expectError(.invalidArgument) { try Authority.oauth2(issuer: issuer) }
    }

    @Test(
        arguments: [
            (document("https://h/p", pkce), nil),
            (document("https://h/p", pkce + #","response_types_supported":["code id_token","code"]"#), nil),
            (document("https://h/p/", pkce), AuthenticationError.Code.invalidResponse),
            (document("https://H/p", pkce), .invalidResponse),
            (document("https://h/p", ""), .unsupported),
            (document("https://h/p", #","code_challenge_methods_supported":["plain"]"#), .unsupported),
            (document("https://h/p", pkce + #","response_types_supported":["token"]"#), .unsupported),
            (document("https://h/p", pkce + #","revocation_endpoint":"https://127.0.0.1/r""#), .untrustedAuthority),
            (document("https://h/p", pkce + #","revocation_endpoint":"http://h/r""#), .untrustedAuthority),
        ] as [(String, AuthenticationError.Code?)]
    )
    func believesWhatFits(_ document: String, _ code: AuthenticationError.Code?) async throws {
        let authority = try Authority.oauth2(issuer: "https://h/p")
        let json = try Fixture.json(document)
        guard let code else {
            #expect(try ProviderMetadata(published: json, by: authority).issuer == "https://h/p")
            return
        }
        try await expectError(code) { try ProviderMetadata(published: json, by: authority) }
    }

    /// The server answers where OpenID Connect has its configuration, with `status` at the places before.
    @Test(.timeLimit(.minutes(1)), arguments: [404, 400, 401, 403])
    func signsInWithoutOpenID(_ status: Int) async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let authority = try Authority.oauth2(issuer: setup.provider.authority.description)
        setup.provider.failNext(.discovery, with: .answer(status: status))
        let (application, first) = try await setup.signedIn(scopes: ["api.read"]) { $0.authority = authority }
        #expect(first.scopes.contains("api.read") && first.idToken == nil)
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["scope"] == "api.read offline_access", "The server publishes that it knows the second.")
        setup.clock.advance(by: .seconds(4000))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && setup.provider.count(of: .token) == 2)
    }

    private static let resource = "https://api.example/mcp"

    /// An application for a resource at the test's provider.
    private func application(
        _ setup: TestSetup,
        _ resource: String?,
        _ adapt: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> PublicClientApplication {
        let authority = try Authority.oauth2(issuer: setup.provider.authority.description, resource: resource)
        return try setup.application {
            $0.authority = authority
            adapt(&$0)
        }
    }

    @Test(.timeLimit(.minutes(1))) func namesTheResourceInEachRequest() async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let application = try application(setup, Self.resource) {
            $0.compatibility.pushedAuthorizationRequests = .whenOffered
        }
        let first = try await application.acquireTokenInteractively(InteractiveParameters(scopes: ["api.read"]))
        setup.clock.advance(by: .seconds(4000))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        let device = Task {
            try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["api.read"])) { prompt in
                setup.provider.approveDevice(userCode: prompt.userCode, as: .alice)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        _ = try await device.value
        let named: [TestIdentityProvider.Endpoint] = [
            .pushedAuthorization, .authorization, .deviceAuthorization, .token,
        ]
        let asked = setup.provider.requests.filter { named.contains($0.endpoint) && $0["request_uri"] == nil }
        #expect(asked.count >= 5 && asked.allSatisfy { $0["resource"] == Self.resource })
        #expect(asked.contains { $0["grant_type"] == "refresh_token" })
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheTokensOfOneResourceFromAnother() async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let group = try CacheGroup("shared")
        let first = try application(setup, Self.resource) { $0.cacheGroup = group }
        let second = try application(setup, Self.resource + "/") { $0.cacheGroup = group }
        let plain = try application(setup, nil) { $0.cacheGroup = group }
        let account = try await first.acquireTokenInteractively(InteractiveParameters(scopes: ["api.read"])).account
        #expect(try await first.allAccounts().map(\.id) == [account.id])
        for other in [second, plain] {
            #expect(try await other.allAccounts().isEmpty)
            try await expectError(.noTokensFound) {
                try await other.acquireTokenSilently(scopes: ["api.read"], account: account)
            }
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test(arguments: ["", "mcp", "https://h/#x", "https://h/a b", "https://h/\u{e9}", ":x"])
    func takesNoOtherResource(_ resource: String) async throws {
        try await expectError(.invalidArgument) {
            try Authority.oauth2(issuer: "https://h", resource: resource)
        }
    }

    @Test func namesOneResourceOnly() async throws {
        let setup = try TestSetup()
        try await expectError(.invalidArgument) {
            try application(setup, Self.resource) { $0.extraTokenParameters = ["resource": "https://other"] }
        }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.extraQueryItems = ["resource": "https://other"]
        try await expectError(.invalidArgument) {
            try await application(setup, Self.resource).acquireTokenInteractively(parameters)
        }
        #expect(setup.provider.count(of: .authorization) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func goesNoFurtherWhereTheServerIsBusy() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .answer(status: 503))
        let authority = try Authority.oauth2(issuer: setup.provider.authority.description)
        try await expectError(.serverUnavailable) {
            try await setup.signedIn(scopes: ["api.read"]) { $0.authority = authority }
        }
        #expect(setup.provider.count(of: .discovery) == 1)
    }
}
