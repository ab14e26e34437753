// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A forged or misdirected ID token does not sign in any account.
@Suite(.timeLimit(.minutes(1)))
struct RefusedIDTokenTests {
    static let wrong: [(String, IDTokenTampering)] = [
        ("iss", .issuer("https://evil.example.test")),
        ("aud", .audience(["another-client"])),
        ("no azp among several aud", .audience(["test-client", "another-client"])),
        ("azp", .audience(["test-client", "another-client"], authorizedParty: "another-client")),
        ("nonce", .nonce("another")),
        ("no nonce", .nonce(nil)),
        ("exp", .expired),
        ("signature", .brokenSignature),
        ("key", .unpublishedKey),
        ("at_hash", .accessTokenHash),
        ("alg none", .algorithm("none")),
        ("alg NONE", .algorithm("NONE")),
        ("alg HS256", .algorithm("HS256")),
        ("alg RS512", .algorithm("RS512")),
        ("alg ES256", .algorithm("ES256")),
        ("kid", .keyID("nobody-published-this")),
        ("no sub", .claim("sub", nil)),
        ("no iss", .claim("iss", nil)),
    ]

    @Test(arguments: wrong.indices)
    func refusesAWrongIDToken(_ index: Int) async throws {
        let (name, tampering) = Self.wrong[index]
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: tampering)
        let application = try setup.application()
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("ID token"), "\(name)")
        #expect(try await setup.storedCredentials(of: application).isEmpty, "\(name)")
        #expect(try await application.allAccounts().isEmpty, "\(name)")
        let page = try await setup.browser.finalPage()
        #expect(page.status == 400 && page.body == error.message, "The page has to say so, too: \(name)")
    }

    /// authentik signs with HS256 if no key was chosen.
    @Test(arguments: [
        ("HS256", "HS256"),
        ("\u{1B}[2J" + String(repeating: "x", count: 50), "[2J" + String(repeating: "x", count: 17)),
    ])
    func namesAnAlgorithmThatIsNotAccepted(_ algorithm: String, _ shown: String) async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: .algorithm(algorithm))
        let error = try await expectError(.invalidIDToken) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("its signature algorithm, '\(shown)', is none that is accepted"))
        #expect(error.message.contains("choose RS256 or ES256 at the provider"))
    }

    /// The refresh token of a refused sign-in is not stored, so the library revokes it.
    @Test(arguments: [IDTokenTampering.brokenSignature, .nonce("another"), .claim("sub", nil)])
    func revokesTheRefreshToken(_ tampering: IDTokenTampering) async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(setup.provider.count(of: .revocation) == 1)
        #expect(setup.provider.requests.last?["token"] != nil)
    }

    /// With some providers, this revocation would end the existing sign-in.
    @Test func revokesNothingOfAPersonWhoIsSignedIn() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.tamperNextIDToken(with: .brokenSignature)
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(setup.provider.count(of: .revocation) == 0)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
    }

    @Test(arguments: [true, false])
    func revokesTheRefreshTokenOfAnotherPerson(_ isSignedIn: Bool) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.browser.forgetCookies()
        setup.browser.person = .bob
        if isSignedIn { _ = try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        setup.browser.forgetCookies()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = first.account
        try await expectError(.accountMismatch) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.provider.count(of: .revocation) == (isSignedIn ? 0 : 1))
    }

    /// A person who gives up while keys are fetched, or whose program ends the wait.
    @Test func revokesTheRefreshTokenOfASignInThatIsCancelled() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let gate = TestGate()
        setup.provider.failNext(.keys, with: .held(by: gate))
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.keys)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let sent = try await setup.provider.waitForRequest(.revocation)
        #expect(sent["token"] != nil)
        gate.open()
        #expect(try await application.allAccounts().isEmpty)
    }

    /// Once the answer is believed, it is stored, whoever still waits: else its refresh token would be nobody's.
    @Test func storesASignInThatIsCancelledWhileItIsStored() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let application = try setup.application()
        let (began, begin) = AsyncStream<Void>.makeStream()
        let (cancelled, cancel) = AsyncStream<Void>.makeStream()
        cache.beforeNextWrite(of: .account) {
            begin.yield()
            for await _ in cancelled { break }
            try Task.checkCancellation()
        }
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        for await _ in began { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        cancel.yield()
        try await wait { try await !setup.storedCredentials(of: application).isEmpty }
        #expect(setup.provider.count(of: .revocation) == 0)
    }

    @Test func leavesNothingOnTheDisk() async throws {
        let directory = try TemporaryDirectory()
        let setup = try TestSetup(cache: FileTokenCache(directory: directory.path + "/cache"))
        setup.provider.tamperNextIDToken(with: .brokenSignature)
        let application = try setup.application()
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        // Another process would find nothing either, and nothing stands in the way of the right answer.
        let again = try setup.application { $0.cache = FileTokenCache(directory: directory.path + "/cache") }
        #expect(try await again.allAccounts().isEmpty)
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(try await again.allAccounts() == [result.account])
    }

    @Test(arguments: [-3600, 7200], [false, true])
    func signsInWithAWrongClockOnlyAsFarAsTheProgramSays(_ offset: Int, _ isTolerated: Bool) async throws {
        let setup = try TestSetup()
        let application = try setup.application { configuration in
            configuration.clock = ManualClock(now: setup.clock.now.addingTimeInterval(Double(offset)))
            if isTolerated { configuration.compatibility.clockTolerance = .seconds(7200) }
        }
        if isTolerated {
            let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
            #expect(result.source == .identityProvider)
        } else {
            let error = try await expectError(.invalidIDToken) {
                try await application.acquireTokenInteractively(scopes: ["api.read"])
            }
            #expect(error.message.contains("clock"))
        }
    }

    @Test func triesAgainWhereFreshKeysCouldNotBeHad() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.provider.failNext(.keys, with: .serverError())
        try await expectError(.serverUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func refusesAnIDTokenForAnotherTenantsIssuer() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        setup.provider.tamperNextIDToken(
            with: .issuer("https://login.microsoftonline.com/99999999-2222-4333-8444-555555555555/v2.0")
        )
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func refusesASignInWithoutIDToken() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("id_token", to: nil))
        let application = try setup.application()
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }
}
