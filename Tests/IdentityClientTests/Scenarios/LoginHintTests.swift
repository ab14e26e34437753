// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// The account that a login hint names.
@Suite(.timeLimit(.minutes(1)))
struct LoginHintTests {
    private func signIn(_ usernames: [String]) async throws -> (PublicClientApplication, [AuthenticationResult]) {
        let setup = try TestSetup()
        let application = try setup.application()
        var results: [AuthenticationResult] = []
        for (number, username) in usernames.enumerated() {
            let person = TestIdentityProvider.Person(
                username: username,
                password: "secret",
                name: "\(number)",
                subject: "subject-\(number)",
                objectID: "object-\(number)"
            )
            setup.provider.add(person)
            setup.browser.person = person
            setup.browser.forgetCookies()
            results.append(try await application.acquireTokenInteractively(scopes: ["api.read"]))
        }
        return (application, results)
    }

    @Test func findsTheAccountByItsUsername() async throws {
        let (application, results) = try await signIn(["Carol@example.test", "bob@example.test"])
        for hint in ["Carol@example.test", "carol@EXAMPLE.test"] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], loginHint: hint)
            #expect(hit.accessToken == results[0].accessToken && hit.source == .cache)
        }
        #expect(try await application.account(matching: "bob@example.test") == results[1].account)
    }

    /// The sign for kelvin becomes a plain k if its case is dropped, and an accent may be a character of its own.
    @Test(arguments: [
        "\u{212A}im@example.test", "Jose\u{301}@example.test", "Jos\u{C9}@example.test", "", "kim", " kim@example.test",
    ])
    func takesNoAccountThatOnlyLooksTheSame(hint: String) async throws {
        let (application, _) = try await signIn(["kim@example.test", "jos\u{E9}@example.test"])
        let error = try await expectError(.noTokensFound) { try await application.account(matching: hint) }
        #expect(error.message.contains("Sign in interactively") && error.matchingAccounts.isEmpty)
        #expect(try await application.accounts(withUsername: hint).isEmpty)
        #expect(try await application.accounts(withUsername: "Jos\u{E9}@example.test").count == 1)
    }

    /// The address of a person who has left was given to another.
    @Test func namesTheAccountsIfSeveralMatch() async throws {
        let (application, results) = try await signIn(["kim@example.test", "bob@example.test", "kim@example.test"])
        let error = try await expectError(.accountSelectionRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], loginHint: "KIM@example.test")
        }
        #expect(Set(error.matchingAccounts) == [results[0].account.id, results[2].account.id])
        #expect(error.message.hasPrefix("2 accounts") && !"\(error)".lowercased().contains("kim@"))
        let chosen = try #require(error.matchingAccounts.first)
        #expect(try await application.account(withID: chosen)?.username?.lowercased() == "kim@example.test")
    }

    @Test func looksForTheClaimWhereNoUsernameMatches() async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: .claim("login_hint", "O.CiQ"))
        let (application, result) = try await setup.signedIn()
        #expect(try await application.account(matching: "O.CiQ") == result.account)
        try await expectError(.noTokensFound) { try await application.account(matching: "o.ciq") }
    }

    @Test func findsTheAccountByTheClaimOfItsIDToken() {
        func account(_ claims: String?) -> Account {
            let profile = TenantProfile(tenantID: "t", localAccountID: "l", idTokenClaims: claims)
            return Account(id: Account.ID(rawValue: "i"), environment: "e", tenantProfiles: [profile])
        }
        #expect(account(#"{"login_hint":"O.CiQ"}"#).hasLoginHint("O.CiQ"))
        for claims in [nil, "", #"{"login_hint":"o.ciq"}"#, #"{"login_hint":7}"#, #"{"sub":"O.CiQ"}"#] {
            #expect(!account(claims).hasLoginHint("O.CiQ"))
        }
    }
}
