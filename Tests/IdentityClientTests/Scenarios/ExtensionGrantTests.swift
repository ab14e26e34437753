// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityCapture
@testable import IdentityClient

/// A sign-in with a grant of the program's choice.
@Suite(.timeLimit(.minutes(1)))
struct ExtensionGrantTests {
    private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let assertion = "c4n4ry-assertion"

    private func setup(
        _ profile: TestIdentityProvider.Profile = .openIDConnect,
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) throws -> TestSetup {
        try TestSetup(profile) {
            $0.assertions = [Self.assertion: "alice@example.test"]
            change(&$0)
        }
    }

    private func signIn(
        _ application: PublicClientApplication,
        _ parameters: [String: String] = ["assertion": ExtensionGrantTests.assertion],
        as account: Account? = nil
    ) async throws -> AuthenticationResult {
        try await application.acquireToken(
            grantType: Self.jwtBearer,
            parameters: parameters,
            scopes: ["api.read"],
            account: account
        )
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c, .adfs])
    func isStoredLikeASignIn(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try setup(profile)
        let application = try setup.application { $0.extraTokenParameters = ["resource": "https://api.example.test"] }
        let result = try await signIn(application, ["assertion": Self.assertion, "requested_token_use": "a b"])
        #expect(result.source == .identityProvider && result.tenantProfile != nil)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["grant_type"] == Self.jwtBearer && sent["assertion"] == Self.assertion)
        #expect(sent["requested_token_use"] == "a b" && sent["resource"] == "https://api.example.test")
        #expect(sent["scope"]?.split(separator: " ").contains("api.read") == true)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(hit.source == .cache && hit.accessToken == result.accessToken)
        #expect(try await application.allAccounts() == [result.account])
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(next.source == .identityProvider)
    }

    @Test func isAboutTheAccountThatTheProgramNames() async throws {
        let setup = try setup()
        setup.browser.person = .bob
        let (application, bob) = try await setup.signedIn()
        try await expectError(.accountMismatch) { try await signIn(application, as: bob.account) }
        #expect(try await application.allAccounts() == [bob.account])
        let alice = try await signIn(application)
        #expect(try await signIn(application, as: alice.account).account.id == alice.account.id)
    }

    @Test(arguments: [
        (TestIdentityProvider.Fault.refusal("invalid_grant"), AuthenticationError.Code.configuration, false),
        (.refusal("unsupported_grant_type"), .unsupported, false),
        (.refusal("unauthorized_client"), .clientNotRegistered, false),
        (.refusal("invalid_scope"), .invalidScope, false),
        (.refusal("interaction_required"), .interactionRequired, false),
        (.serverError(), .serverUnavailable, false), (.drop, .connectionFailed, false),
        (.changing("id_token", to: #""not.a.token""#), .invalidIDToken, true),
        (.changing("id_token", to: nil), .unsupported, true),
        (.changing("token_type", to: #""mac""#), .malformedResponse, true),
        (.changing("access_token", to: nil), .malformedResponse, true),
    ])
    func storesNothingIfItFails(
        _ fault: TestIdentityProvider.Fault,
        _ code: AuthenticationError.Code,
        _ hasRefreshToken: Bool
    ) async throws {
        let setup = try setup()
        let application = try setup.application()
        setup.provider.failAlways(.token, with: fault)
        let error = try await expectError(code) { try await signIn(application) }
        #expect(!"\(error)".contains(Self.assertion) && !error.message.contains(Self.assertion))
        #expect(try await application.allAccounts().isEmpty)
        #expect(setup.provider.count(of: .token) == 1, "A grant is sent once.")
        #expect(setup.provider.count(of: .revocation) == (hasRefreshToken ? 1 : 0), "No record has the refresh token.")
    }

    @Test(arguments: [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
        "urn:ietf:params:oauth:grant-type:token-exchange", "password", "Password", "client_credentials", "", "a b",
        "a\0", "é", String(repeating: "a", count: 1025),
    ])
    func refusesAGrantThatIsNotForThis(_ grantType: String) async throws {
        let setup = try setup()
        let application = try setup.application()
        try await expectError(.invalidArgument) {
            try await application.acquireToken(grantType: grantType, parameters: [:], scopes: ["api.read"])
        }
        #expect(setup.provider.requests.isEmpty)
    }

    @Test(arguments: [
        ["scope": "a"], ["client_id": "a"], ["client_secret": "a"], ["grant_type": "a"], ["password": "a"],
        ["client_assertion": "a"], ["claims": "{}"], ["token_type": "pop"], ["resource": "twice"], ["": "a"], ["a": ""],
        ["a b": "a"], ["a": "c4n4ry\n"], ["a": "c4n4ry\0"], ["a": String(repeating: "c4n4ry", count: 10_923)],
        Dictionary(uniqueKeysWithValues: (0..<51).map { ("a\($0)", "a") }),
    ])
    func refusesParametersThatCannotBeSent(_ parameters: [String: String]) async throws {
        let setup = try setup()
        let application = try setup.application { $0.extraTokenParameters = ["resource": "a"] }
        let error = try await expectError(.invalidArgument) { try await signIn(application, parameters) }
        #expect(!"\(error) \(error.message)".contains("c4n4ry"))
        #expect(setup.provider.requests.isEmpty)
    }

    @Test func makesAnAccountAtAPlainServer() async throws {
        let setup = try setup { $0.issuesRefreshTokens = false }
        let authority = try Authority.oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
        let application = try setup.application { $0.authority = authority }
        let first = try await signIn(application)
        let same = try await signIn(application, as: first.account)
        #expect(same.account.id == first.account.id && same.accessToken != first.accessToken)
        #expect(try await application.allAccounts().count == 1)
        _ = try await signIn(application)
        #expect(try await application.allAccounts().count == 2)
    }

    @Test func tellsItsParametersToNoLogAndNoCapture() async throws {
        let setup = try setup()
        let (capture, journal) = (ExchangeCapture(), SecretsScenarioTests.Journal())
        let application = try setup.application {
            $0.capture = capture
            $0.logger = journal.logger()
        }
        let parameters = ["assertion": Self.assertion, "otp": "c4n4ry-123456"]
        let result = try await signIn(application, parameters)
        journal.note(all: result)
        setup.provider.failNext(.token, with: .refusal("invalid_grant", description: "not \(Self.assertion)"))
        _ = try await expectError(.configuration) { try await signIn(application, parameters) }
        let captured = String(decoding: capture.json(), as: UTF8.self)
        #expect(captured.contains("otp") && !captured.contains("c4n4ry"))
        #expect(journal.count > 5 && !journal.text.contains("c4n4ry"))
    }
}
