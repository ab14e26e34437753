// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// A published configuration is accepted only if it fits the authority.
@Suite(.timeLimit(.minutes(1)))
struct RefusedDiscoveryTests {
    static let wrong: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
        (.changing("issuer", to: #""https://evil.example.test""#), .invalidResponse),
        (.changing("issuer", to: #""https://login.example.test/other""#), .invalidResponse),
        (.changing("issuer", to: nil), .malformedResponse),
        (.insecureEndpoints, .invalidResponse),
        (.changing("authorization_endpoint", to: #""http://login.example.test/authorize""#), .untrustedAuthority),
        (.changing("token_endpoint", to: #""http://login.example.test/token""#), .untrustedAuthority),
        (.changing("jwks_uri", to: #""http://login.example.test/keys""#), .untrustedAuthority),
        (.changing("token_endpoint", to: #""javascript:alert(1)""#), .untrustedAuthority),
        (.changing("token_endpoint", to: nil), .unsupported),
        (.changing("token_endpoint", to: "7"), .malformedResponse),
        (.changing("code_challenge_methods_supported", to: #"["plain"]"#), .unsupported),
        (.changing("require_pushed_authorization_requests", to: "true"), .unsupported),
        (.changing("require_pushed_authorization_requests", to: #""yes""#), .malformedResponse),
        (.changing("pushed_authorization_request_endpoint", to: #""http://h/par""#), .untrustedAuthority),
        (.repeating("issuer"), .malformedResponse),
        (.html, .malformedResponse),
        (.notUTF8, .malformedResponse),
        (.oversized(), .malformedResponse),
        (.endless, .malformedResponse),
        (.redirect(to: "https://evil.example.test/"), .malformedResponse),
        (.serverError(), .serverUnavailable),
        (.throttled(retryAfter: .seconds(9)), .throttled),
        (.answer(status: 404), .configuration),
    ]

    /// Both places are told, the one that people know first.
    @Test func namesEachPlaceWhereNothingIsPublished() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .answer(status: 403))
        let error = try await expectError(.configuration) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        let first = "https://login.example.test/.well-known/openid-configuration (403)"
        #expect(error.message.contains("nothing at \(first) or https://login.example.test/.well-known/oauth-"))
    }

    @Test(arguments: wrong.indices)
    func refusesAWrongConfigurationAndForgetsIt(_ index: Int) async throws {
        let (fault, code) = Self.wrong[index]
        let setup = try TestSetup()
        let application = try setup.application()
        setup.provider.failAlways(.discovery, with: fault)
        for _ in 0..<2 {
            try await expectError(code) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        }
        #expect(setup.browser.openedURLs.isEmpty)
        #expect(setup.provider.requests.allSatisfy { $0.endpoint == .discovery })
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" })
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        // It was not kept, so that the right one counts as soon as it is there.
        setup.provider.failAlways(.discovery, with: nil)
        if code == .unsupported { setup.clock.advance(by: .seconds(2 * 86_400)) }
        if code == .throttled { setup.clock.advance(by: .seconds(60)) }
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(result.source == .identityProvider)
    }

    /// The discovered address of the sign-in page is checked before a browser gets it.
    @Test(arguments: [
        "javascript:alert(1)", "file:///bin/sh", "a:$(touch x)", "https://", "https:login.example.test",
        "http://x/`id`",
        "https://login.example.test/a b", "https://login.example.test/\\\"&calc", "ms-settings:x", "-a",
    ])
    func cve_2025_10619_noDiscoveredAddressReachesABrowserUnchecked(endpoint: String) async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let text = JSONValue.string(endpoint).jsonText
        setup.provider.failAlways(.discovery, with: .changing("authorization_endpoint", to: text))
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.map { [.untrustedAuthority, .malformedResponse].contains($0.code) } == true, "\(endpoint)")
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test func refusesEndpointsOfEntraOnAForeignHost() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failNext(
            .discovery,
            with: .changing("token_endpoint", to: #""https://evil.example.test/token""#)
        )
        let application = try setup.application()
        try await expectError(.untrustedAuthority) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(setup.browser.openedURLs.isEmpty)
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(result.source == .identityProvider)
    }

    @Test func doesNotTakeAnUnknownHostForMicrosoft() async throws {
        let setup = try TestSetup(.entra)
        let authority = try Authority(url: "https://login.evil.example.test/common")
        let application = try setup.application { $0.authority = authority }
        try await expectError(.untrustedAuthority) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(setup.browser.openedURLs.isEmpty)
        #expect(!setup.transport.requests.contains { $0.authority == "login.evil.example.test" })
    }
}
