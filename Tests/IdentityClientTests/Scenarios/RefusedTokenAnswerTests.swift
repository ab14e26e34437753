// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Synchronization
import Testing

/// A wrong answer of the token endpoint leads to a clear error and changes nothing.
@Suite(.timeLimit(.minutes(1)))
struct RefusedTokenAnswerTests {
    static let wrong: [WrongAnswer.Case] =
        WrongAnswer.toAnyGrant + [
            (.repeating("id_token"), .malformedResponse),
            (.refusal("invalid_grant", status: 200), .loginRequired),
            (.emptyBadRequest, .loginRequired),
            (.throttled(retryAfter: .seconds(5)), .throttled),
            (.truncated, .connectionFailed),
        ]

    @Test(arguments: wrong.indices)
    func refusesAWrongAnswerToTheCode(_ index: Int) async throws {
        let (fault, code) = Self.wrong[index]
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: fault)
        let application = try setup.application()
        let error = try await expectError(code) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.correlationID != nil)
        #expect(setup.provider.count(of: .token) == 1, "A code is never sent twice.")
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" })
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        let page = try await setup.browser.finalPage()
        #expect(page.status == 400 && page.body == error.message)
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    static let unusable: [(TestIdentityProvider.Fault, String)] = [
        (.changing("access_token", to: nil), "no access token. Request a scope"),
        (.changing("token_type", to: #""mac""#), "another type than Bearer"),
    ]

    @Test(arguments: unusable.indices)
    func saysWhatIsWrongWithTheTokenAndWhatToDo(_ index: Int) async throws {
        let (fault, words) = Self.unusable[index]
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: fault)
        let error = try await expectError(.malformedResponse) { try await setup.signedIn() }
        #expect(error.message.contains(words))
    }

    /// The same over sockets and libcurl, with answers as bytes.
    static let overSockets: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
        (.html, .malformedResponse),
        (.notUTF8, .malformedResponse),
        (.oversized(bytes: 50 << 20), .malformedResponse),
        (.endless, .malformedResponse),
        (.truncated, .connectionFailed),
        (.drop, .connectionFailed),
    ]

    @Test(arguments: overSockets.indices)
    func refusesAWrongAnswerOverSockets(_ index: Int) async throws {
        let (fault, code) = Self.overSockets[index]
        let provider = try TestIdentityProvider()
        let authority = try provider.listen()
        defer { provider.close() }
        provider.failNext(.token, with: fault)
        let browser = ScriptedBrowser(provider: nil)
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.browser = browser
        let application = try PublicClientApplication(configuration)
        let error = try await expectError(code) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(provider.count(of: .token) == 1)
        #expect(try await application.allAccounts().isEmpty)
        let page = try await browser.finalPage()
        #expect(page.body.contains("Not signed in"))
        #expect(!page.body.contains("sign-in is complete"), "\(error)")
    }

    @Test(arguments: [302, 307, 308])
    func neverFollowsARedirectOfTheTokenEndpoint(_ status: Int) async throws {
        let visits = Mutex(0)
        let elsewhere = try LoopbackServer.start { _ in
            visits.withLock { $0 += 1 }
            return LoopbackResponse(status: 200, text: "thanks")
        }
        defer { elsewhere.close() }
        let provider = try TestIdentityProvider()
        let authority = try provider.listen()
        defer { provider.close() }
        provider.failNext(.token, with: .redirect(to: "http://127.0.0.1:\(elsewhere.port)/token", status: status))
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.browser = ScriptedBrowser(provider: nil)
        let application = try PublicClientApplication(configuration)
        try await expectError(.malformedResponse) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(visits.withLock { $0 } == 0)
        #expect(provider.count(of: .token) == 1)
    }
}
