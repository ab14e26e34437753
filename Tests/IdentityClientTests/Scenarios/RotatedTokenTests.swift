// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// The server has invalidated the sent refresh token, so the new one is stored before any further wait.
@Suite(.timeLimit(.minutes(1)))
struct RotatedTokenTests {
    private func storedRefreshToken(_ setup: TestSetup) async throws -> String? {
        let records = try await setup.storedCredentials(of: setup.application())
        return try records.values.first.flatMap { record in
            try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }.refreshToken?.secret
        }
    }

    @Test func storesTheRotatedTokenWhileKeysAreFetched() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let old = try await storedRefreshToken(setup)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.rotateSigningKey()
        let (gate, fetched) = (TestGate(), setup.provider.count(of: .keys))
        setup.provider.failNext(.keys, with: .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        try await setup.provider.waitForRequest(.keys, count: fetched + 1)
        let new = try await storedRefreshToken(setup)
        #expect(new != nil && new != old)
        gate.open()
        let result = try await task.value
        #expect(result.source == .identityProvider && result.idToken != first.idToken)
        #expect(try await storedRefreshToken(setup) == new)
        // And it is the one that counts.
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// The configuration that is kept names another algorithm than the ID token's: it is fetched anew with the answer in hand.
    @Test func storesTheRotatedTokenWhileTheConfigurationIsFetched() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let old = try await storedRefreshToken(setup)
        setup.clock.advance(by: .seconds(2 * 86_400))
        let (gate, fetched) = (TestGate(), setup.provider.count(of: .discovery))
        let outdated = TestIdentityProvider.Fault.changing(
            "id_token_signing_alg_values_supported",
            to: #"["ES256"]"#
        )
        setup.provider.failNext(.discovery, with: outdated, .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        try await setup.provider.waitForRequest(.discovery, count: fetched + 2)
        let new = try await storedRefreshToken(setup)
        #expect(new != nil && new != old)
        gate.open()
        let result = try await task.value
        #expect(result.source == .identityProvider && result.idToken != first.idToken)
        #expect(try await storedRefreshToken(setup) == new)
    }

    @Test func fetchesStaleKeysBeforeTheRefreshTokenIsSent() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(2 * 86_400))
        let (gate, fetched, sent) = (TestGate(), setup.provider.count(of: .keys), setup.provider.count(of: .token))
        setup.provider.failNext(.keys, with: .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        try await setup.provider.waitForRequest(.keys, count: fetched + 1)
        #expect(setup.provider.count(of: .token) == sent)
        gate.open()
        #expect(try await task.value.idToken != first.idToken)
        #expect(setup.provider.count(of: .keys) == fetched + 1)
    }

    /// A program's own transport may throw this error when it is closed. The keys are then out of reach, as in an outage.
    @Test func keepsTheAnswerIfTheTransportGivesUpMeanwhile() async throws {
        let setup = try TestSetup()
        let transport = CancellingTransport(setup.provider.transport)
        let (application, first) = try await setup.signedIn { $0.transport = transport }
        let old = try await storedRefreshToken(setup)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.rotateSigningKey()
        transport.cancelsGets.withLock { $0 = true }
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(renewed.source == .identityProvider)
        let new = try await storedRefreshToken(setup)
        #expect(new != nil && new != old)
        transport.cancelsGets.withLock { $0 = false }
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .cache && next.accessToken == renewed.accessToken)
    }

    /// A host that does not answer is asked once a minute, as long as its earlier documents are usable.
    @Test(arguments: [TestIdentityProvider.Fault.drop, .serverError(), .throttled(retryAfter: .seconds(30))])
    func aSilentHostDoesNotDelayTheRefresh(_ fault: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(2 * 86_400))
        setup.provider.failAlways(.discovery, with: fault)
        setup.provider.failAlways(.keys, with: fault)
        setup.provider.forgetRequests()
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        for _ in 0..<3 { #expect(try await application.acquireTokenSilently(forced).source == .identityProvider) }
        #expect(setup.provider.count(of: .discovery) == 1 && setup.provider.count(of: .keys) == 1)
        setup.clock.advance(by: .seconds(60))
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
        #expect(setup.provider.count(of: .discovery) == 2 && setup.provider.count(of: .keys) == 2)
    }

    /// Each application object stands for a new process, which knows only the contents of the cache.
    @Test(arguments: [nil, Duration.seconds(600)])
    func isNotHeldUpInANewProcessEither(retryAfter: Duration?) async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(2 * 86_400))
        let fault = retryAfter.map { TestIdentityProvider.Fault.throttled(retryAfter: $0) } ?? .drop
        setup.provider.failAlways(.discovery, with: fault)
        setup.provider.failAlways(.keys, with: fault)
        setup.provider.forgetRequests()
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        func refresh() async throws {
            #expect(try await setup.application().acquireTokenSilently(forced).source == .identityProvider)
        }
        for _ in 0..<3 { try await refresh() }
        #expect(setup.provider.count(of: .discovery) == 1 && setup.provider.count(of: .keys) == 1)
        setup.clock.advance(by: (retryAfter ?? .seconds(60)) - .seconds(1))
        try await refresh()
        #expect(setup.provider.count(of: .discovery) == 1 && setup.provider.count(of: .keys) == 1)
        setup.clock.advance(by: .seconds(1))
        try await refresh()
        #expect(setup.provider.count(of: .discovery) == 2 && setup.provider.count(of: .keys) == 2)
    }

    /// The caller leaves before the request's deadline, so that the late answer serves the next one.
    @Test func waitsOnlyAShortTimeForANewerDocument() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.requestTimeout = .seconds(10) }
        setup.clock.advance(by: .seconds(2 * 86_400))
        setup.provider.forgetRequests()
        let gate = TestGate()
        setup.provider.failNext(.discovery, with: .held(by: gate))
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
        func isPaused() async throws -> Bool {
            let group = CacheGroup.application(application.configuration.clientID)
            let records = try await setup.cache.records(of: .provider, in: group).values
            return records.contains { ProviderDocument(decoding: $0)?.pausedUntil != nil }
        }
        #expect(try await isPaused())
        gate.open()
        try await wait { try await !isPaused() }
        setup.clock.advance(by: .seconds(120))
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
        #expect(setup.provider.count(of: .discovery) == 1)
    }

    /// The same where nothing is kept and Microsoft's endpoints are known: one that asks its host again holds up no refresh.
    @Test func endpointsKnownInAdvanceAreFetchedOnceAMinute() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failAlways(.discovery, with: .serverError())
        let (application, first) = try await setup.signedIn()
        #expect(setup.provider.count(of: .discovery) == 1)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        for _ in 0..<3 { #expect(try await application.acquireTokenSilently(forced).source == .identityProvider) }
        #expect(setup.provider.count(of: .discovery) == 1)
        setup.clock.advance(by: .seconds(60))
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
        #expect(setup.provider.count(of: .discovery) == 2)
    }

    /// A computer that was offline asks again as soon as it is asked, at Microsoft's providers as at others.
    @Test(arguments: [TestIdentityProvider.Profile.entra, .openIDConnect])
    func asksAtOnceWhenTheNetworkIsBack(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        setup.transport.isOffline = true
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        setup.transport.isOffline = false
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(setup.provider.count(of: .discovery) == 1)
    }

    /// Where nothing is kept, what the provider publishes cannot be had now, and it says for how long.
    @Test func sendsNothingWhileTheProviderIsUnavailable() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(10 * 86_400))
        setup.provider.failNext(.discovery, with: .throttled(retryAfter: .seconds(60)))
        let application = try setup.application()
        setup.provider.forgetRequests()
        for _ in 0..<3 {
            let error = try await expectError(.throttled) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            #expect(error.retryAfter == .seconds(60))
        }
        #expect(setup.provider.requests.count == 1)
        setup.clock.advance(by: .seconds(60))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// The person signs in again during a forced refresh, which must not report a sign-out.
    @Test func aForcedRefreshContinuesWithTheSignInThatReplacedTheRecord() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (gate, sent) = (TestGate(), setup.provider.count(of: .token))
        setup.provider.failNext(.token, with: .held(by: gate))
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        let task = Task { try await application.acquireTokenSilently(forced) }
        try await setup.provider.waitForRequest(.token, count: sent + 1)
        let newer = try await application.acquireTokenInteractively(scopes: ["api.read"])
        gate.open()
        let result = try await task.value
        #expect(result.source == .identityProvider && result.accessToken != newer.accessToken)
        #expect(setup.provider.count(of: .revocation) == 0)
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
    }
}

/// Ends each GET as if its caller had been canceled, if the test says so.
private final class CancellingTransport: HTTPTransport {
    let cancelsGets = Shared(false)
    private let base: any HTTPTransport

    init(_ base: any HTTPTransport) {
        self.base = base
    }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        if request.method == .get, cancelsGets.value { throw CancellationError() }
        return try await base.send(request, body: body)
    }
}
