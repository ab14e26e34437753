// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Two programs of one publisher: the second one signs in by the sign-in of the first, without a browser.
@Suite(.timeLimit(.minutes(1)))
struct DeviceSecretTests {
    private let setup: TestSetup

    init() throws {
        setup = try TestSetup(clients: [.init(id: "mail"), .init(id: "notes")])
    }

    private func application(_ clientID: ClientID, group: String = "com.example.suite") throws
        -> PublicClientApplication
    {
        let group = try CacheGroup(group)
        return try setup.application {
            $0.clientID = clientID
            $0.cacheGroup = group
        }
    }

    private func signedIn(_ scopes: Set<Scope> = ["mail.read", .deviceSSO]) async throws -> Account {
        try await application("mail").acquireTokenInteractively(scopes: scopes).account
    }

    @Test func signsTheSecondProgramInWithoutABrowser() async throws {
        let account = try await signedIn()
        let asked = try #require(setup.provider.requests.last { $0.endpoint == .authorization })
        #expect(asked["scope"]?.split(separator: " ").contains("device_sso") == true)
        let pages = setup.provider.count(of: .authorization)
        let notes = try application("notes")
        #expect(try await notes.allAccounts() == [account], "The group's accounts are seen.")
        try await expectError(.noTokensFound) {
            try await notes.acquireTokenSilently(scopes: ["notes.read"], account: account)
        }
        // The ID token of the first program may have expired.
        setup.clock.advance(by: .seconds(7200))
        let result = try await notes.acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
        #expect(result.source == .identityProvider && result.account.id == account.id)
        #expect(result.scopes.contains("notes.read") && setup.provider.count(of: .authorization) == pages)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["client_id"] == "notes" && sent["audience"] == "https://login.example.test")
        #expect(sent["actor_token_type"] == "urn:openid:params:token-type:device-secret")
        #expect(sent["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(sent["scope"] == "notes.read openid profile offline_access")

        // It is a sign-in: stored, and renewed by itself; the first program's is as it was.
        let again = try application("notes")
        #expect(try await again.acquireTokenSilently(scopes: ["notes.read"], account: account).source == .cache)
        setup.clock.advance(by: .seconds(3600))
        #expect(
            try await again.acquireTokenSilently(scopes: ["notes.read"], account: account).source == .identityProvider
        )
        let mail = try application("mail")
        #expect(
            try await mail.acquireTokenSilently(scopes: ["mail.read"], account: account).source == .identityProvider
        )
    }

    @Test func keepsTheSecretOverARefreshAndATokenWithoutIt() async throws {
        let account = try await signedIn()
        let mail = try application("mail")
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .changing("device_secret", to: nil))
        let result = try await mail.acquireTokenSilently(scopes: ["mail.read", .deviceSSO], account: account)
        #expect(result.source == .identityProvider && result.declinedScopes.isEmpty)
        let records = try await setup.storedTokens(of: mail)
        #expect(records.first?.deviceSecret?.hasPrefix("ds-") == true)
        _ = try await application("notes").acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
    }

    @Test func needsASharedSignInOfTheSameGroupAndAccount() async throws {
        let account = try await signedIn(["mail.read"])
        try await expectError(.noTokensFound) {
            try await application("notes").acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
        }
        _ = try await signedIn()
        try await expectError(.noTokensFound) {
            try await application("notes", group: "other").acquireToken(byDeviceSecretOf: account, scopes: [])
        }
        let other = Account(id: Account.ID(rawValue: account.id.rawValue + "x"), environment: account.environment)
        try await expectError(.noTokensFound) {
            try await application("notes").acquireToken(byDeviceSecretOf: other, scopes: [])
        }
        #expect(setup.provider.requests.allSatisfy { $0["actor_token"] == nil })
    }

    private static let refused: [(AuthenticationError.Code, TestIdentityProvider.Fault)] = [
        (.loginRequired, .refusal("invalid_grant")), (.invalidTarget, .refusal("invalid_target")),
        (.clientNotRegistered, .refusal("unauthorized_client")),
        (.malformedResponse, .changing("issued_token_type", to: nil)),
        (.malformedResponse, .changing("token_type", to: #""N_A""#)), (.connectionFailed, .drop),
        (.invalidIDToken, .changing("id_token", to: nil)), (.invalidIDToken, .changing("id_token", to: #""a.b.c""#)),
        (.malformedResponse, .changing("expires_in", to: "true")), (.serverUnavailable, .serverError()),
    ]

    @Test(arguments: refused)
    func storesNothingIfItFails(_ code: AuthenticationError.Code, _ fault: TestIdentityProvider.Fault) async throws {
        let account = try await signedIn()
        setup.provider.failNext(.token, with: fault)
        let notes = try application("notes")
        let error = try await expectError(code) {
            try await notes.acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
        }
        #expect(!"\(error)".contains("ds-") && setup.provider.count(of: .token) == 2)
        #expect(try await setup.storedTokens(of: notes).map(\.clientID) == ["mail"])
    }

    @Test func believesNoAnswerAboutAnotherPerson() async throws {
        let account = try await signedIn()
        setup.provider.tamperNextIDToken(with: .claim("sub", "subject-bob"))
        try await expectError(.accountMismatch) {
            try await application("notes").acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
        }
    }

    @Test func asksAPersonAfterTheSignInWasRevoked() async throws {
        let account = try await signedIn()
        setup.provider.revokeSessions(of: .alice)
        try await expectError(.loginRequired) {
            try await application("notes").acquireToken(byDeviceSecretOf: account, scopes: ["notes.read"])
        }
    }

    @Test(arguments: [#""""#, "7", #""a b""#, "null"]) func ignoresASecretThatIsNone(_ json: String) async throws {
        setup.provider.failNext(.token, with: .changing("device_secret", to: json))
        let account = try await signedIn()
        #expect(try await setup.storedTokens(of: application("mail")).first?.deviceSecret == nil)
        try await expectError(.noTokensFound) {
            try await application("notes").acquireToken(byDeviceSecretOf: account, scopes: [])
        }
    }

    @Test func sendsTheNamesOfTheProvider() async throws {
        let account = try await signedIn()
        let okta: SecurityToken.TypeIdentifier = "urn:x-oath:params:oauth:token-type:device-secret"
        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        try await expectError(.loginRequired) {
            try await application("notes").acquireToken(
                byDeviceSecretOf: account,
                scopes: [],
                secretType: okta,
                audience: "api://default"
            )
        }
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["actor_token_type"] == okta.rawValue && sent["audience"] == "api://default")
    }
}
