// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// When the broker is asked, and what of its answers is believed.
@Suite(.timeLimit(.minutes(1)))
struct BrokerScenarioTests {
    private let setup: TestSetup
    private let broker = ScriptedBroker()

    init() throws {
        setup = try TestSetup(.entra, clients: [.init(), .init(id: "other-client")])
    }

    private func application(isRequired: Bool = false) throws -> PublicClientApplication {
        try setup.application { $0.broker = isRequired ? .required(broker) : .whenAvailable(broker) }
    }

    /// An account of the broker's that is not signed in here.
    private func account(of tokens: BrokerTokens) throws -> Account {
        Account(id: Account.ID(rawValue: try #require(tokens.homeAccountID)), environment: "login.windows.net")
    }

    @Test(arguments: [true, false])
    func signsInThroughTheBrokerAndAnswersFromTheCache(namesAccount: Bool) async throws {
        let tokens = try await setup.brokerTokens(namesAccount: namesAccount)
        broker.interactive.withLock { $0 = { _ in tokens } }
        let (application, opened) = (try application(), setup.browser.openedURLs.count)
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(result.source == .broker && result.accessToken == tokens.accessToken)
        #expect(result.account.username == "alice@example.test" && result.expiresOn == tokens.expiresOn)
        #expect(setup.browser.openedURLs.count == opened)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(hit.source == .cache && broker.calls.value == ["interactive"])
        #expect(try await setup.storedTokens(of: application).allSatisfy { $0.refreshToken == nil })
        // Once the token has expired, the broker is asked, and no token endpoint.
        setup.clock.advance(by: .seconds(3600))
        let fresh = try await setup.brokerTokens()
        broker.silent.withLock { $0 = { _ in fresh } }
        let requests = setup.provider.count(of: .token)
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(renewed.source == .broker && renewed.accessToken == fresh.accessToken)
        #expect(setup.provider.count(of: .token) == requests)
        let again = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(again.source == .cache && again.accessToken == fresh.accessToken)
    }

    @Test(
        arguments: [
            AuthenticationError.Code.brokerUnavailable, .serverUnavailable, .malformedResponse, .unsupported,
        ]
    )
    func opensTheBrowserWhereTheBrokerCannotBeUsedAndTellsWhy(code: AuthenticationError.Code) async throws {
        broker.interactive.withLock { $0 = { _ in throw AuthenticationError(code, "The reason.") } }
        let told = Shared<[String]>([])
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.onProgress = { phase in
            if case .brokerUnavailable(let message) = phase { told.withLock { $0.append(message) } }
        }
        let result = try await application().acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider && told.value == ["The reason."])
        try await expectError(code) {
            try await application(isRequired: true).acquireTokenInteractively(parameters)
        }
        #expect(setup.browser.openedURLs.count == 1)
    }

    @Test(arguments: [AuthenticationError.Code.userCancelled, .blockedByPolicy, .network, .interactionRequired])
    func opensNoBrowserAfterADecision(code: AuthenticationError.Code) async throws {
        broker.interactive.withLock { $0 = { _ in throw AuthenticationError(code, "No.") } }
        try await expectError(code) { try await application().acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test func anErrorOfAProgramsOwnBrokerIsUnavailable() async throws {
        struct Odd: Error {}
        broker.interactive.withLock { $0 = { _ in throw Odd() } }
        try await expectError(.brokerUnavailable) {
            try await application(isRequired: true).acquireTokenInteractively(scopes: ["api.read"])
        }
    }

    @Test func givesThePersonAsMuchTimeAsTheSignInHas() async throws {
        let ended = Shared(false)
        broker.interactive.withLock {
            $0 = { _ in
                defer { ended.withLock { $0 = true } }
                try await TestGate().wait()
                throw ScriptedBroker.missing
            }
        }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(20)
        try await expectError(.interactionTimedOut) { try await application().acquireTokenInteractively(parameters) }
        try await wait { ended.value }
    }

    @Test func needsAScopeOfAnAPI() async throws {
        try await expectError(.unsupported) {
            try await application(isRequired: true).acquireTokenInteractively(scopes: ["openid", "profile"])
        }
        #expect(broker.calls.value.isEmpty)
    }

    @Test func listsAndUsesTheBrokersAccounts() async throws {
        let tokens = try await setup.brokerTokens()
        let alice = try account(of: tokens)
        let elsewhere = Account(id: Account.ID(rawValue: "a.b"), environment: "login.microsoftonline.us")
        broker.listed.withLock { $0 = .success([alice, elsewhere]) }
        broker.silent.withLock { $0 = { _ in tokens } }
        let application = try application()
        #expect(try await application.allAccounts().map(\.id) == [alice.id])
        #expect(try await application.allAccounts().first?.environment == "login.microsoftonline.com")
        let result = try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"])
        #expect(result.source == .broker && result.account.id == alice.id)
        #expect(try await application.allAccounts().map(\.username) == ["alice@example.test"])
    }

    @Test func listsWithoutABrokerUnlessItIsRequired() async throws {
        broker.listed.withLock { $0 = .failure(ScriptedBroker.missing) }
        #expect(try await application().allAccounts().isEmpty)
        try await expectError(.brokerUnavailable) { try await application(isRequired: true).allAccounts() }
    }

    @Test func redeemsItsOwnRefreshTokenWhereTheBrokerGivesNone() async throws {
        let (_, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        broker.silent.withLock { $0 = { _ in throw AuthenticationError(.noTokensFound, "Not here.") } }
        try await expectError(.noTokensFound) {
            try await application(isRequired: true).acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        let result = try await application().acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(result.source == .identityProvider)
        #expect(broker.calls.value == ["silent", "silent"])
    }

    @Test func needsThePersonWhereOnlyTheLostBrokerHadTokens() async throws {
        let alice = try account(of: try await setup.brokerTokens())
        let error = try await expectError(.noTokensFound) {
            try await application().acquireTokenSilently(scopes: ["api.read"], account: alice)
        }
        #expect(error.message.contains("No identity broker here."))
        // A broker that does not answer may answer later.
        broker.silent.withLock { $0 = { _ in throw AuthenticationError(.serverUnavailable, "Busy.") } }
        try await expectError(.serverUnavailable) {
            try await application().acquireTokenSilently(scopes: ["api.read"], account: alice)
        }
    }

    @Test func asksTheBrokerOnceForManyCallers() async throws {
        let (tokens, gate) = (try await setup.brokerTokens(), TestGate())
        broker.silent.withLock {
            $0 = { _ in
                try await gate.wait()
                return tokens
            }
        }
        let (application, alice) = (try application(), try account(of: tokens))
        let callers = (0..<8).map { _ in
            Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: alice) }
        }
        try await wait { broker.calls.value == ["silent"] }
        gate.open()
        for caller in callers { #expect(try await caller.value.accessToken == tokens.accessToken) }
        #expect(broker.calls.value == ["silent"])
    }

    @Test func tellsTheBrokerWhichTokenIsNotGoodEnough() async throws {
        let tokens = try await setup.brokerTokens()
        broker.silent.withLock { $0 = { _ in tokens } }
        let (application, alice) = (try application(), try account(of: tokens))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: alice)
        let parameters = SilentParameters(scopes: ["api.read"], account: alice, forcesRefresh: true)
        _ = try await application.acquireTokenSilently(parameters)
        #expect(broker.requests.value.map(\.refusedToken) == [nil, tokens.accessToken])
        #expect(broker.requests.value[0].authority.url.contains("11111111-2222-4333-8444-555555555555"))
    }

    @Test func believesNoTokensOfAnotherProgramOrPerson() async throws {
        let alice = try account(of: try await setup.brokerTokens())
        let bobs = try await setup.brokerTokens(of: .bob)
        var forged = bobs
        forged.homeAccountID = alice.homeAccountID
        var unsigned = try await setup.brokerTokens()
        unsigned.idToken = nil
        let others = try await setup.brokerTokens(client: "other-client")
        let answers: [(BrokerTokens, AuthenticationError.Code)] = [
            (bobs, .invalidResponse), (forged, .invalidIDToken), (unsigned, .invalidIDToken), (others, .invalidIDToken),
        ]
        for (answer, code) in answers {
            broker.silent.withLock { $0 = { _ in answer } }
            try await expectError(code) {
                try await application(isRequired: true).acquireTokenSilently(scopes: ["api.read"], account: alice)
            }
        }
        broker.interactive.withLock { $0 = { _ in bobs } }
        try await expectError(.accountMismatch) {
            try await application().acquireTokenInteractively(
                InteractiveParameters(scopes: ["api.read"], account: alice)
            )
        }
        #expect(try await setup.storedCredentials(of: application()).isEmpty)
    }

    @Test func bringsNoAccountBackThatWasSignedOutMeanwhile() async throws {
        let tokens = try await setup.brokerTokens()
        let (asked, gate) = (TestGate(), TestGate())
        broker.silent.withLock { $0 = { _ in tokens } }
        let (application, alice) = (try application(), try account(of: tokens))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: alice)
        broker.silent.withLock {
            $0 = { _ in
                asked.open()
                try await gate.wait()
                return tokens
            }
        }
        let parameters = SilentParameters(scopes: ["api.read"], account: alice, forcesRefresh: true)
        let call = Task { try await application.acquireTokenSilently(parameters) }
        try await asked.wait()
        try await application.remove(alice)
        gate.open()
        try await expectError(.accountRemoved) { try await call.value }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test(arguments: [nil, AuthenticationError(.unsupported, "Himmelblau cannot.")])
    func signsOutHereWhateverTheBrokerCan(error: AuthenticationError?) async throws {
        let tokens = try await setup.brokerTokens()
        broker.silent.withLock { $0 = { _ in tokens } }
        broker.removal.withLock { $0 = error }
        let (application, alice) = (try application(), try account(of: tokens))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: alice)
        try await application.remove(alice)
        #expect(broker.calls.value.last == "remove")
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func servesEntraIDOnly() throws {
        let other = try TestSetup(.openIDConnect)
        let error = #expect(throws: AuthenticationError.self) {
            try other.application { $0.broker = .whenAvailable(broker) }
        }
        #expect(error?.code == .invalidArgument)
    }

    /// Himmelblau has written seconds for milliseconds, and times that are none.
    @Test(
        arguments: [
            (1_700_003_600, nil, 3600), (1_700_003_600, 1_700_001_000, 1000), (3_600, 1_700_001_000, 1000),
            (1_700_003_600_000, nil, 300), (1_699_999_999, nil, 300), (nil, nil, 300),
            (1_700_000_100, 1_700_900_000, 100), (nil, .min, 300), (nil, .max, 300), (.min, nil, 300),
            (.max, .min, 300),
        ] as [(Int?, Int?, Int64)]
    )
    func believesOnlyALifetimeThatCanBe(told: Int?, own: Int?, lifetime: Int64) {
        let token = own.map { "e30.\(Self.base64(#"{"exp":\#($0)}"#)).AAAA" } ?? "opaque"
        let tokens = BrokerTokens(
            accessToken: token.replacing("e30.", with: "\(Self.base64(#"{"alg":"RS256"}"#))."),
            expiresOn: told.map { Date(timeIntervalSince1970: Double($0)) },
            idToken: nil
        )
        #expect(tokens.lifetime(at: 1_700_000_000) == lifetime)
    }

    private static func base64(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("=", with: "").replacing("+", with: "-").replacing(
            "/",
            with: "_"
        )
    }
}
