// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Every way to sign in with every way to bind its tokens: the token, the stored key and the next silent call agree.
///
/// The provider's clock and the program's are one that stands still, which a proof's time must be from.
@Suite(.timeLimit(.minutes(1)))
struct SignInBindingTests {
    enum Flow: CaseIterable {
        case browser, restored, deviceCode, grant, refreshToken, deviceSecret

        var takesScheme: Bool { [.browser, .restored, .deviceCode].contains(self) }

        var activity: Activity {
            switch self {
            case .browser: .acquireInteractively
            case .restored: .completeAuthorization
            case .deviceCode: .acquireWithDeviceCode
            case .grant: .acquireWithGrant
            case .refreshToken: .acquireByRefreshToken
            case .deviceSecret: .acquireByDeviceSecret
            }
        }
    }

    enum Binding: CaseIterable {
        case bearer, required, whenOffered, pop
        /// The provider binds no tokens.
        case requiredInVain, whenNotOffered

        var policy: DPoPPolicy {
            switch self {
            case .bearer, .pop: .off
            case .required, .requiredInVain: .required
            case .whenOffered, .whenNotOffered: .whenOffered
            }
        }

        var provider: TestIdentityProvider.DPoP? {
            switch self {
            case .bearer, .whenOffered: TestIdentityProvider.DPoP()
            case .required: TestIdentityProvider.DPoP(isRequired: true, nonce: "n-1")
            case .pop, .requiredInVain, .whenNotOffered: nil
            }
        }

        /// The scheme of the tokens; `nil` if the sign-in fails.
        func scheme(of flow: Flow) -> AuthenticationScheme? {
            switch self {
            case .bearer, .whenNotOffered: .bearer
            case .required: flow == .refreshToken ? nil : .dpop
            case .whenOffered: .dpop
            case .pop: .pop
            case .requiredInVain: nil
            }
        }
    }

    private static let cases = Flow.allCases.flatMap { flow in
        Binding.allCases.filter { $0 != .pop || flow.takesScheme }.map { (flow, $0) }
    }

    private func setup(
        _ binding: Binding,
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) throws -> TestSetup {
        let clients = [TestIdentityProvider.Client(), TestIdentityProvider.Client(id: "other")]
        return try TestSetup(binding == .pop ? .entra : .openIDConnect, clients: clients) {
            $0.assertions = ["a": "alice@example.test"]
            change(&$0)
        }
    }

    private func application(
        _ setup: TestSetup,
        _ policy: DPoPPolicy,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> PublicClientApplication {
        let group = try CacheGroup("com.example.suite")
        return try setup.application {
            $0.cacheGroup = group
            $0.dpop = policy
            change(&$0)
        }
    }

    /// The traces of another program or library, by which a sign-in is made without a person.
    private func groundwork(
        for flow: Flow,
        _ setup: TestSetup,
        _ policy: DPoPPolicy
    ) async throws -> (Account?, refreshToken: String?) {
        let scopes: Set<Scope> = ["api.read", .deviceSSO]
        switch flow {
        case .browser, .restored, .deviceCode, .grant: return (nil, nil)
        case .refreshToken:
            let cache = InMemoryTokenCache()
            let old = try setup.application { $0.cache = cache }
            _ = try await old.acquireTokenInteractively(scopes: scopes)
            let records = try await cache.records(of: .account, in: .application("test-client")).values
            return (nil, try records.map { try Self.credentials($0) }.first?.refreshToken?.secret)
        case .deviceSecret:
            setup.provider.settings.dpop = TestIdentityProvider.DPoP()
            let other = try application(setup, policy) { $0.clientID = "other" }
            return (try await other.acquireTokenInteractively(scopes: scopes).account, nil)
        }
    }

    private static func credentials(_ record: CacheRecord) throws -> AccountCredentials {
        try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
    }

    /// The program's own record, if it is signed in.
    private func stored(_ setup: TestSetup, _ application: PublicClientApplication) async throws -> AccountCredentials?
    {
        try await setup.storedTokens(of: application).first { $0.clientID == "test-client" }
    }

    private func signIn(
        by flow: Flow,
        _ setup: TestSetup,
        _ application: PublicClientApplication,
        _ scheme: AuthenticationScheme = .bearer,
        as account: Account? = nil,
        from groundwork: (Account?, refreshToken: String?) = (nil, nil)
    ) async throws -> AuthenticationResult {
        let scopes: Set<Scope> = ["api.read"]
        switch flow {
        case .browser, .restored:
            var parameters = InteractiveParameters(scopes: scopes)
            (parameters.scheme, parameters.account) = (scheme, account)
            guard flow == .restored else { return try await application.acquireTokenInteractively(parameters) }
            let request = try await application.prepareAuthorization(parameters)
            let browser = ScriptedBrowser(provider: setup.provider, signingInAs: .alice)
            browser.followsRedirects = false
            try await browser.open(request.url)
            let restored = try await application.restoreAuthorization(request.serialized())
            return try await application.completeAuthorization(restored, with: browser.redirectURL())
        case .deviceCode:
            var parameters = DeviceCodeParameters(scopes: scopes, account: account)
            parameters.scheme = scheme
            let waiting = Task { [parameters] in
                try await application.acquireTokenWithDeviceCode(parameters) { prompt in
                    #expect(setup.provider.approveDevice(userCode: prompt.userCode, as: .alice))
                }
            }
            try await setup.clock.waitForSleepers()
            setup.clock.advance(by: .seconds(5))
            return try await waiting.value
        case .grant:
            return try await application.acquireToken(
                grantType: "urn:ietf:params:oauth:grant-type:jwt-bearer",
                parameters: ["assertion": "a"],
                scopes: scopes,
                account: account
            )
        case .refreshToken:
            return try await application.acquireToken(
                byRefreshToken: try #require(groundwork.refreshToken),
                scopes: scopes
            )
        case .deviceSecret:
            return try await application.acquireToken(byDeviceSecretOf: try #require(groundwork.0), scopes: scopes)
        }
    }

    @Test(arguments: cases)
    func theTokenTheKeyAndTheNextCallAgree(_ flow: Flow, _ binding: Binding) async throws {
        let setup = try setup(binding)
        let groundwork = try await groundwork(for: flow, setup, binding.policy)
        setup.provider.settings.dpop = binding.provider
        let recorder = TelemetryTests.Recorder()
        let application = try application(setup, binding.policy) { $0.telemetry = recorder }
        let scheme: AuthenticationScheme = binding == .pop ? .pop : .bearer
        let before = setup.provider.count(of: .token)
        guard let expected = binding.scheme(of: flow) else {
            let error = try await expectError(.unsupported) {
                try await signIn(by: flow, setup, application, scheme, from: groundwork)
            }
            #expect(error.message.contains("bound"))
            #expect(try await stored(setup, application) == nil)
            // A refresh token from elsewhere is bound to another key or to none: it is not even sent.
            #expect((setup.provider.count(of: .token) == before) == (flow == .refreshToken))
            #expect(recorder.ends(of: flow.activity).count == 1)
            return
        }
        let result = try await signIn(by: flow, setup, application, scheme, from: groundwork)
        #expect(result.scheme == expected && result.tokenType == expected.description)
        #expect(recorder.ends(of: flow.activity) == [.success(source: "identityProvider")])
        let key = setup.provider.introspect(accessToken: result.accessToken)?.keyID
        #expect((key == nil) == (expected == .bearer))
        #expect(try await stored(setup, application)?.dpopKey?.keyID == (expected == .dpop ? key : nil))

        // Another process has the token, and renews it with the same key.
        let next = try self.application(setup, binding.policy)
        var silent = SilentParameters(scopes: ["api.read"], account: result.account)
        silent.scheme = scheme
        let hit = try await next.acquireTokenSilently(silent)
        #expect(hit.source == .cache && hit.accessToken == result.accessToken && hit.scheme == expected)
        setup.clock.advance(by: .seconds(3600))
        let renewed = try await next.acquireTokenSilently(silent)
        #expect(renewed.source == .identityProvider && renewed.scheme == expected)
        #expect(setup.provider.introspect(accessToken: renewed.accessToken)?.keyID == key)
    }

    /// An answer about another person is not stored, and its refresh token revoked with the key that it is bound to.
    @Test(arguments: [Flow.browser, .restored, .deviceCode, .grant], [Binding.bearer, .required])
    func storesNothingAboutAnotherPerson(_ flow: Flow, _ binding: Binding) async throws {
        let setup = try setup(binding)
        setup.provider.settings.dpop = binding.provider
        let application = try application(setup, binding.policy)
        let browser = ScriptedBrowser(provider: setup.provider, signingInAs: .bob, receiver: setup.receiver)
        let bobs = try self.application(setup, binding.policy) { $0.browser = browser }
        let bob = try await bobs.acquireTokenInteractively(scopes: ["api.read"]).account
        try await expectError(.accountMismatch) {
            try await signIn(by: flow, setup, application, as: bob)
        }
        #expect(try await application.allAccounts() == [bob])
        let revoked = setup.provider.requests.filter { $0.endpoint == .revocation }
        #expect(revoked.count == 1 && (revoked[0].header("DPoP") != nil) == (binding == .required))
    }

    /// The person is signed in, with the key, although the scopes were declined.
    @Test(arguments: Flow.allCases, [Binding.bearer, .whenOffered])
    func keepsTheKeyOfASignInWithoutTheScopes(_ flow: Flow, _ binding: Binding) async throws {
        let setup = try setup(binding)
        let groundwork = try await groundwork(for: flow, setup, binding.policy)
        setup.provider.settings.dpop = binding.provider
        setup.provider.settings.declinedScopes = ["api.read"]
        let application = try application(setup, binding.policy)
        if [.refreshToken, .deviceSecret].contains(flow) {
            // They give what was granted before.
            setup.provider.failNext(.token, with: .changing("scope", to: #""openid""#))
        }
        try await expectError(.scopesDeclined) { try await signIn(by: flow, setup, application, from: groundwork) }
        let record = try #require(try await stored(setup, application))
        let token = try #require(record.accessTokens.first)
        let key = setup.provider.introspect(accessToken: token.secret)?.keyID
        #expect(record.dpopKey?.keyID == key && (key != nil) == (binding == .whenOffered))
    }

    @Test func aSignInIsFinishedWithTheSettingThatItWasPreparedWith() async throws {
        let setup = try setup(.required)
        setup.provider.settings.dpop = TestIdentityProvider.DPoP()
        for (first, second) in [(DPoPPolicy.off, DPoPPolicy.required), (.required, .off)] {
            let request = try await application(setup, first).prepareAuthorization(InteractiveParameters(scopes: []))
            try await expectError(.configuration) {
                try await application(setup, second).restoreAuthorization(request.serialized())
            }
        }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func aBearerTokenIsNotHandedOutOnceBoundOnesAreRequired() async throws {
        let setup = try setup(.whenNotOffered)
        let application = try application(setup, .whenOffered)
        let result = try await signIn(by: .browser, setup, application)
        #expect(try await application.acquireTokenSilently(scopes: [], account: result.account).scheme == .bearer)
        try await expectError(.noTokensFound) {
            try await self.application(setup, .required).acquireTokenSilently(scopes: [], account: result.account)
        }
    }

    /// Between the choice of a key and the refresh, another program signs the person in anew, with another key.
    @Test func sendsNothingWithTheKeyOfAnotherSignIn() async throws {
        let setup = try setup(.required)
        setup.provider.settings.dpop = TestIdentityProvider.DPoP(isRequired: true)
        let application = try application(setup, .required)
        let first = try await signIn(by: .browser, setup, application)
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        let again = try await signIn(by: .browser, setup, self.application(setup, .required))
        gate.open()
        #expect(try await task.value.accessToken == again.accessToken)
        #expect(setup.provider.count(of: .token) == 3, "Two sign-ins, and the refresh that was under way.")
    }
}
