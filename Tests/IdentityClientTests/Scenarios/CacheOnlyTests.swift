// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Calls that may not use the network, accept an expired token, or have a time limit.
@Suite(.timeLimit(.minutes(1)))
struct CacheOnlyTests {
    private func call(
        _ application: PublicClientApplication,
        _ first: AuthenticationResult,
        _ scopes: Set<Scope> = ["api.read"],
        _ change: (inout SilentParameters) -> Void
    ) async throws -> AuthenticationResult {
        var parameters = SilentParameters(scopes: scopes, account: first.account)
        change(&parameters)
        return try await application.acquireTokenSilently(parameters)
    }

    /// Also a token that the server wants renewed, or that is in the last minutes of its life.
    @Test func takesAValidTokenAndSendsNothing() async throws {
        let setup = try TestSetup { $0.refreshIn = .seconds(1800) }
        let (application, first) = try await setup.signedIn()
        setup.provider.forgetRequests()
        for wait in [0, 2000, 1599] {
            setup.clock.advance(by: .seconds(wait))
            let hit = try await call(application, first) { $0.usesCacheOnly = true }
            #expect(hit.accessToken == first.accessToken && hit.source == .cache && hit.expiredFor == nil)
        }
        try await application.finishPendingWork(within: .seconds(15))
        #expect(setup.provider.requests.isEmpty)
    }

    @Test func saysThatANewTokenNeedsTheNetwork() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.forgetRequests()
        try await expectError(.networkNotAllowed) {
            try await call(application, first, ["mail.read"]) { $0.usesCacheOnly = true }
        }
        setup.clock.advance(by: .seconds(3600))
        let error = try await expectError(.networkNotAllowed) {
            try await call(application, first) { $0.usesCacheOnly = true }
        }
        #expect(.network ~= error.code && error.message.contains("with the network"))
        for change: (inout SilentParameters) -> Void in [{ $0.forcesRefresh = true }, { $0.claims = "{}" }] {
            try await expectError(.invalidArgument) {
                try await call(application, first) { parameters in
                    parameters.usesCacheOnly = true
                    change(&parameters)
                }
            }
        }
        #expect(setup.provider.requests.isEmpty)
        let next = try await call(application, first) { _ in }
        #expect(next.source == .identityProvider)
    }

    @Test func saysThatOnlyASignInHelps() async throws {
        let setup = try TestSetup { $0.issuesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        try await expectError(.noTokensFound) { try await call(application, first) { $0.usesCacheOnly = true } }
        try await application.remove(first.account)
        try await expectError(.noTokensFound) { try await call(application, first) { $0.usesCacheOnly = true } }
    }

    @Test func asksNoBroker() async throws {
        let setup = try TestSetup(.entra)
        let broker = ScriptedBroker()
        let application = try setup.application { $0.broker = .required(broker) }
        let account = Account(id: Account.ID(rawValue: "a.b"), environment: "login.microsoftonline.com")
        try await expectError(.networkNotAllowed) {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: account, usesCacheOnly: true)
            )
        }
        #expect(broker.calls.value.isEmpty)
        // Nor for an account whose tokens came from the broker, once they have expired.
        let tokens = try await setup.brokerTokens()
        broker.silent.withLock { $0 = { _ in tokens } }
        let id = Account.ID(rawValue: try #require(tokens.homeAccountID))
        let known = Account(id: id, environment: "login.windows.net")
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: known)
        setup.clock.advance(by: .seconds(3600))
        try await expectError(.networkNotAllowed) {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: known, usesCacheOnly: true)
            )
        }
        #expect(broker.calls.value == ["silent"])
    }

    @Test func endsAtItsTimeLimitWhileTheCacheDoesNotAnswer() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let gate = TestGate()
        let application = try setup.application { $0.cache = HeldCache(base: setup.cache, gate: gate) }
        let error = try await expectError(.cacheBusy) {
            try await call(application, first) { $0.timeout = .milliseconds(1) }
        }
        #expect(error.message.contains("time limit"))
        gate.open()
        #expect(try await call(application, first) { $0.timeout = .seconds(50) }.source == .cache)
    }

    @Test func returnsAnExpiredTokenAndSaysSo() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600 + 90))
        setup.transport.isOffline = true
        for isCacheOnly in [false, true] {
            let result = try await call(application, first) { parameters in
                parameters.allowsExpiredToken = true
                parameters.usesCacheOnly = isCacheOnly
            }
            #expect(result.accessToken == first.accessToken && result.expiredFor == .seconds(90))
            #expect(!result.isExtendedLifetimeToken && result.idToken == first.idToken)
        }
        try await expectError(.connectionFailed) {
            try await call(application, first, ["mail.read"]) { $0.allowsExpiredToken = true }
        }
        setup.transport.isOffline = false
        let next = try await call(application, first) { $0.allowsExpiredToken = true }
        #expect(next.source == .identityProvider && next.expiredFor == nil)
    }

    @Test func returnsNoExpiredTokenAfterARefusal() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        try await expectError(.signInExpired) {
            try await call(application, first) { $0.allowsExpiredToken = true }
        }
    }

    @Test func prefersTheExtendedLifetime() async throws {
        let setup = try TestSetup(.entra) { $0.extendedLifetime = .seconds(7200) }
        let (application, first) = try await setup.signedIn { $0.entra.allowsExtendedLifetime = true }
        setup.transport.isOffline = true
        for (age, isExtended) in [(3610, true), (7210, false)] {
            setup.clock.advance(by: .seconds(isExtended ? age : 3600))
            let result = try await call(application, first) { $0.allowsExpiredToken = true }
            #expect(result.isExtendedLifetimeToken == isExtended)
            #expect(result.expiredFor == .seconds(age - 3600))
        }
    }

    @Test func endsAtItsTimeLimitWhileTheRefreshGoesOn() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        let error = try await expectError(.networkTimedOut) {
            try await call(application, first) { $0.timeout = .milliseconds(500) }
        }
        #expect(error.message.contains("within 1 s"))
        let expired = try await call(application, first) { parameters in
            parameters.timeout = .milliseconds(500)
            parameters.allowsExpiredToken = true
        }
        #expect(expired.expiredFor == .zero)
        gate.open()
        let renewed = try await task.value
        let hit = try await call(application, first) { $0.timeout = .seconds(50) }
        #expect(hit.accessToken == renewed.accessToken && hit.source == .cache)
        for timeout in [Duration.zero, .seconds(-1)] {
            try await expectError(.invalidArgument) { try await call(application, first) { $0.timeout = timeout } }
        }
    }

    /// The limit was the caller's and says nothing about the server: no pause follows.
    @Test func returnsAValidTokenAtItsTimeLimit() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        let mail = try await call(application, first, ["mail.read"]) { _ in }
        setup.clock.advance(by: .seconds(3400))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let result = try await call(application, first) { $0.timeout = .milliseconds(500) }
        #expect(result.accessToken == first.accessToken && result.expiredFor == nil)
        gate.open()
        let next = try await call(application, first, ["mail.read"]) { _ in }
        #expect(next.accessToken != mail.accessToken && next.source == .identityProvider)
    }
}

/// A cache that answers when a gate is opened.
private struct HeldCache: TokenCache {
    let base: any TokenCache
    let gate: TestGate

    func record(for key: CacheKey) async throws -> CacheRecord? {
        try await gate.wait()
        return try await base.record(for: key)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }
}
