// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// The demands of a program reach the broker, and its answer is held to them.
@Suite(.timeLimit(.minutes(1)))
struct BrokerDemandsTests {
    private let setup: TestSetup
    private let broker = ScriptedBroker()

    init() throws {
        setup = try TestSetup(.entra)
    }

    private func application() throws -> PublicClientApplication {
        try setup.application { $0.broker = .whenAvailable(broker) }
    }

    /// The program, and an account with the broker's tokens.
    private func signedIn() async throws -> (PublicClientApplication, AuthenticationResult) {
        let tokens = try await setup.brokerTokens()
        broker.interactive.withLock { $0 = { _ in tokens } }
        let application = try application()
        return (application, try await application.acquireTokenInteractively(scopes: ["api.read"]))
    }

    private func forced(_ account: Account) -> SilentParameters {
        SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: true)
    }

    @Test func passesTheDemandsOn() async throws {
        let tokens = try await setup.brokerTokens()
        broker.interactive.withLock { $0 = { _ in tokens } }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.loginHint = "alice@example.test"
        parameters.claims = #"{"access_token":{"deviceid":{"essential":true}}}"#
        parameters.maxAge = .seconds(600)
        parameters.acrValues = ["one", "two"]
        parameters.uiLocales = ["de", "fr"]
        parameters.domainHint = "example.test"
        let application = try application()
        _ = try await application.acquireTokenInteractively(parameters)
        parameters.prompt = .selectAccount
        _ = try await application.acquireTokenInteractively(parameters)
        let (first, second) = (broker.requests.value[0], broker.requests.value[1])
        #expect(first.loginHint == "alice@example.test" && first.claims == parameters.claims && first.prompt == nil)
        #expect(
            first.queryItems == [
                "max_age": "600", "acr_values": "one two", "ui_locales": "de fr", "domain_hint": "example.test",
            ]
        )
        #expect(second.loginHint == nil && second.prompt == "select_account")

        let claims = #"{"access_token":{"nbf":{"essential":true}}}"#
        let account = try #require(try await application.allAccounts().first)
        broker.silent.withLock { $0 = { _ in tokens } }
        let silent = SilentParameters(scopes: ["api.read"], account: account, claims: claims)
        _ = try await application.acquireTokenSilently(silent)
        #expect(broker.requests.value.last?.claims == claims)
    }

    @Test func holdsTheAnswerToThem() async throws {
        let tokens = try await setup.brokerTokens()
        broker.interactive.withLock { $0 = { _ in tokens } }
        let application = try application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.requiredAMR = ["hwk"]
        try await expectError(.insufficientUserAuthentication) {
            try await application.acquireTokenInteractively(parameters)
        }
        setup.clock.advance(by: .seconds(1800))
        var recent = InteractiveParameters(scopes: ["api.read"])
        recent.maxAge = .seconds(600)
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(recent) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func believesNoOtherSubjectOfTheSameAccount() async throws {
        let (application, result) = try await signedIn()
        setup.provider.tamperNextIDToken(with: .subject("another"))
        let others = try await setup.brokerTokens()
        broker.silent.withLock { $0 = { _ in others } }
        try await expectError(.invalidIDToken) { try await application.acquireTokenSilently(forced(result.account)) }
    }

    /// A broker may keep an access token for longer than the ID token that came with it.
    @Test func takesASilentAnswerWhoseIDTokenHasExpired() async throws {
        let (application, result) = try await signedIn()
        var tokens = try await setup.brokerTokens()
        setup.clock.advance(by: .seconds(6 * 3600))
        tokens.expiresOn = nil
        let late = tokens
        broker.silent.withLock { $0 = { _ in late } }
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(renewed.source == .broker)
        // A sign-in is now.
        broker.interactive.withLock { $0 = { _ in late } }
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
    }

    /// A refresh token of the program's own does not take over for an account that was signed out meanwhile.
    @Test func redeemsNothingForAnAccountThatWasSignedOut() async throws {
        let (_, first) = try await setup.signedIn()
        let application = try application()
        let tokens = try await setup.brokerTokens()
        broker.silent.withLock {
            $0 = { _ in
                try await application.remove(first.account)
                return tokens
            }
        }
        let requests = setup.provider.count(of: .token)
        try await expectError(.accountRemoved) { try await application.acquireTokenSilently(forced(first.account)) }
        #expect(setup.provider.count(of: .token) == requests)
    }
}
