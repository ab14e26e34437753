// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Signing in on another device (RFC 8628).
@Suite(.timeLimit(.minutes(1)))
struct DeviceCodeScenarioTests {
    /// Starts a sign-in and returns its prompt.
    private func start(
        _ application: PublicClientApplication,
        _ change: (inout DeviceCodeParameters) -> Void = { _ in }
    ) async throws -> (Task<AuthenticationResult, any Error>, DeviceCodePrompt) {
        var parameters = DeviceCodeParameters(scopes: ["api.read"])
        change(&parameters)
        let (prompts, shown) = AsyncStream.makeStream(of: DeviceCodePrompt.self)
        let task = Task { [parameters] in
            defer { shown.finish() }
            return try await application.acquireTokenWithDeviceCode(parameters) { shown.yield($0) }
        }
        guard let prompt = await prompts.first(where: { _ in true }) else {
            _ = try await task.value
            throw MissingError()
        }
        return (task, prompt)
    }

    /// Lets the program ask once more, `wait` after the last time, and not before.
    private func advance(_ setup: TestSetup, by wait: Duration, toQuestion count: Int) async throws {
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: wait - .milliseconds(1))
        #expect(setup.provider.count(of: .token) == count - 1)
        #expect(setup.clock.sleeperCount == 1)
        setup.clock.advance(by: .milliseconds(1))
        try await setup.provider.waitForRequest(.token, count: count)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func signsInWhenThePersonHasFinishedElsewhere(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        let (task, prompt) = try await start(application)
        #expect(prompt.message.contains(prompt.userCode))
        #expect(prompt.message.contains(prompt.verificationURI.absoluteString))
        #expect(prompt.expiresOn == setup.clock.now.addingTimeInterval(900))
        // Entra ID gives no address with the code in it.
        #expect((prompt.verificationURIComplete == nil) == (profile == .entra))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await setup.clock.waitForSleepers()
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 2)
        let result = try await task.value
        #expect(result.account.username == "alice@example.test" && result.source == .identityProvider)
        #expect(setup.provider.accepts(accessToken: result.accessToken))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(hit.accessToken == result.accessToken && hit.source == .cache)
        #expect(try await application.currentAccount().current?.id == result.account.id)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(next.source == .identityProvider)
    }

    /// Keycloak demands PKCE from a client that is configured to require it.
    @Test func provesThatItAskedForTheCode() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        for round in 1...2 {
            let (task, prompt) = try await start(application)
            try await advance(setup, by: .seconds(5), toQuestion: 2 * round - 1)
            try await setup.clock.waitForSleepers()
            #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
            try await advance(setup, by: .seconds(5), toQuestion: 2 * round)
            _ = try await task.value
        }
        let asked = setup.provider.requests.filter { $0.endpoint == .deviceAuthorization }
        #expect(asked.map { $0["code_challenge_method"] } == ["S256", "S256"])
        let verifiers = setup.provider.requests.filter { $0.endpoint == .token }.compactMap { $0["code_verifier"] }
        try #require(verifiers.count == 4)
        #expect(verifiers[0] == verifiers[1] && verifiers[1] != verifiers[2] && verifiers[2] == verifiers[3])
        let challenges = [verifiers[0], verifiers[2]].map { ProofKey.challenge(for: $0) }
        #expect(asked.map { $0["code_challenge"] } == challenges)
    }

    @Test func asksWithoutProofWhereTheProviderRefusesIt() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.deviceAuthorization, with: .refusal("invalid_request"))
        let (task, prompt) = try await start(try setup.application())
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        _ = try await task.value
        let asked = setup.provider.requests.filter { $0.endpoint == .deviceAuthorization }
        #expect(asked.map { $0["code_challenge"] != nil } == [true, false])
        #expect(setup.provider.requests.last { $0.endpoint == .token }?["code_verifier"] == nil)
    }

    @Test func provesNothingWhereTheProviderDoesNotSayHow() async throws {
        let setup = try TestSetup { $0.advertisesS256 = false }
        let (task, prompt) = try await start(try setup.application())
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        _ = try await task.value
        let names = setup.provider.requests.flatMap { $0.form.map(\.name) }
        #expect(!names.contains { $0.hasPrefix("code_") })
    }

    @Test func slowsDownByFiveSecondsForGood() async throws {
        let setup = try TestSetup()
        let (task, prompt) = try await start(try setup.application())
        setup.provider.failNext(
            .token,
            with: .refusal("slow_down"),
            .refusal("authorization_pending"),
            .refusal("slow_down")
        )
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await advance(setup, by: .seconds(10), toQuestion: 2)
        try await advance(setup, by: .seconds(10), toQuestion: 3)
        setup.provider.approveDevice(userCode: prompt.userCode, as: .alice)
        try await advance(setup, by: .seconds(15), toQuestion: 4)
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func outlivesAServerThatCannotBeReached() async throws {
        let setup = try TestSetup()
        let (task, prompt) = try await start(try setup.application())
        setup.provider.failNext(.token, with: .drop, .serverError(status: 503), .throttled(retryAfter: .seconds(33)))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await advance(setup, by: .seconds(10), toQuestion: 2)
        try await advance(setup, by: .seconds(20), toQuestion: 3)
        setup.provider.approveDevice(userCode: prompt.userCode, as: .alice)
        try await advance(setup, by: .seconds(40), toQuestion: 4)
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func saysThatThePersonRefused(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (task, prompt) = try await start(try setup.application())
        #expect(setup.provider.denyDevice(userCode: prompt.userCode))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await expectError(.accessDenied) { try await task.value }
    }

    @Test func endsWhenTheCodeIsVoid() async throws {
        let setup = try TestSetup { $0.deviceCodeLifetime = .seconds(12) }
        let (task, _) = try await start(try setup.application())
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await advance(setup, by: .seconds(5), toQuestion: 2)
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(2))
        try await expectError(.interactionTimedOut) { try await task.value }
        #expect(setup.provider.count(of: .token) == 2)
    }

    /// As on a device whose clock is set by the network after the start.
    @Test(arguments: [-86_400.0, 86_400.0])
    func goesOnWhenTheClockIsSet(_ offset: Double) async throws {
        let setup = try TestSetup()
        let clock = AdjustableClock(setup.clock)
        let application = try setup.application { configuration in
            configuration.clock = clock
            configuration.compatibility.clockTolerance = .seconds(2 * 86_400)
        }
        let (task, prompt) = try await start(application)
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        clock.offset.withLock { $0 = offset }
        try await setup.clock.waitForSleepers()
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 2)
        #expect(try await task.value.source == .identityProvider)
    }

    @Test func endsWhenTheServerSaysThatTheCodeIsVoid() async throws {
        let setup = try TestSetup()
        let (task, _) = try await start(try setup.application())
        setup.provider.failNext(.token, with: .refusal("expired_token"))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await expectError(.interactionTimedOut) { try await task.value }
    }

    @Test func hasATimeOutOfItsOwn() async throws {
        let setup = try TestSetup()
        let (task, prompt) = try await start(try setup.application()) { $0.timeout = .seconds(3) }
        #expect(prompt.expiresOn == setup.clock.now.addingTimeInterval(3))
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(3))
        try await expectError(.interactionTimedOut) { try await task.value }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func stopsAskingWhenItIsCancelled() async throws {
        let setup = try TestSetup()
        let (task, _) = try await start(try setup.application())
        try await setup.clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        setup.clock.advance(by: .seconds(60))
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func refusesAnotherPersonThanTheOneAskedFor() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.forgetRequests()
        let (task, prompt) = try await start(application) { $0.account = first.account }
        setup.provider.approveDevice(userCode: prompt.userCode, as: .bob)
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        try await expectError(.accountMismatch) { try await task.value }
        #expect(try await application.allAccounts() == [first.account])
    }

    static let unsafe = [
        #""http://phish.example.test/""#, #""javascript:alert(1)""#, #""http://phish.example.test/#https://a.test/""#,
        #""javascript:alert(1)#https://a.test/""#, "\"#https://a.test/\"", #""https://a.test/#/device#2""#,
        #""https://user@a.test/#/device""#, #""https://a.test/#\\evil""#,
        #""https://a.test/#\#(String(repeating: "a", count: 2048))""#,
    ]
    static let unprintable = [
        #""https://a.test/#/de vice""#, #""https://a.test/#/device\n""#, #""https://a.test/#/device\u0007""#,
        #""https://a.test/#/d\u00e9vice""#, #""https://a.test/#/dev\u202Eice""#, "null",
    ]

    @Test(arguments: unsafe + unprintable)
    func showsNoAddressThatIsNotSafe(_ address: String) async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.deviceAuthorization, with: .changing("verification_uri", to: address))
        try await expectError(.malformedResponse) { try await start(try setup.application()) }
    }

    @Test(arguments: unsafe)
    func leavesOutACompleteAddressThatIsNotSafe(_ address: String) async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.deviceAuthorization, with: .changing("verification_uri_complete", to: address))
        let (task, prompt) = try await start(try setup.application())
        #expect(prompt.verificationURIComplete == nil)
        task.cancel()
    }

    /// A single-page application keeps its location after the `#`.
    @Test(arguments: ["https://id.example.test/#/device", "https://id.example.test#device?x=1", "https://a.test/d?x#"])
    func showsTheWholeAddressOfASinglePageApplication(_ address: String) async throws {
        let setup = try TestSetup()
        setup.provider.failNext(
            .deviceAuthorization,
            with: .all(
                .changing("verification_uri", to: "\"\(address)\""),
                .changing("verification_uri_complete", to: "\"\(address)/CODE\"")
            )
        )
        let (task, prompt) = try await start(try setup.application())
        #expect(prompt.verificationURI.absoluteString == address)
        #expect(prompt.verificationURIComplete?.absoluteString == address + "/CODE")
        #expect(prompt.message.contains(address))
        task.cancel()
    }

    @Test func believesARefusalWithTheStatusOfSuccess() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failNext(.deviceAuthorization, with: .refusal("invalid_client", status: 200))
        try await expectError(.clientNotRegistered) { try await start(try setup.application()) }
    }

    /// As django-oauth-toolkit answers a device.
    @Test func saysWhatToDoWhereNoIDTokenComes() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.token, with: .changing("id_token", to: nil))
        let (task, prompt) = try await start(setup.application())
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        let error = try await expectError(.unsupported) { try await task.value }
        #expect(error.message.contains("no ID token") && error.message.contains("plain OAuth 2.0 server"))
        // The remedy is one.
        let origin = "https://login.example.test"
        let endpoints = Authority.OAuth2Endpoints(
            authorization: "\(origin)/authorize",
            token: "\(origin)/token",
            deviceAuthorization: "\(origin)/device_authorization"
        )
        let plain = try Authority.oauth2(endpoints)
        let (again, next) = try await start(setup.application { $0.authority = plain })
        #expect(setup.provider.approveDevice(userCode: next.userCode, as: .alice))
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        #expect(try await again.value.scopes.contains("api.read"))
    }

    @Test func saysWhereItIsNotOffered() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.discovery, with: .changing("device_authorization_endpoint", to: nil))
        try await expectError(.unsupported) { try await start(try setup.application()) }
    }

    /// GitLab has such an endpoint and does not publish it.
    @Test func takesTheEndpointThatTheProgramNames() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.discovery, with: .changing("device_authorization_endpoint", to: nil))
        let authority = try Authority.openIDConnect(
            issuer: setup.provider.authority.description,
            deviceAuthorization: "https://login.example.test/device_authorization"
        )
        let application = try setup.application { $0.authority = authority }
        let (task, prompt) = try await start(application)
        #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        try await advance(setup, by: .seconds(5), toQuestion: 1)
        let account = try await task.value.account
        // Whoever is signed in there is so with and without it.
        #expect(try await setup.application().allAccounts() == [account])
    }

    @Test func sendsExtraItemsButNoReservedOnes() async throws {
        let setup = try TestSetup()
        let (task, _) = try await start(try setup.application()) { $0.extraParameters = ["audience": "a b"] }
        task.cancel()
        #expect(setup.provider.requests.last { $0.endpoint == .deviceAuthorization }?["audience"] == "a b")
        try await expectError(.invalidArgument) {
            try await start(try setup.application()) { $0.extraParameters = ["client_id": "other"] }
        }
    }
}

/// A wall clock that is changed while a program runs.
private final class AdjustableClock: WallClock {
    let offset = Shared(0.0)
    private let base: ManualClock

    init(_ base: ManualClock) {
        self.base = base
    }

    var now: Date { base.now.addingTimeInterval(offset.value) }

    func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}
