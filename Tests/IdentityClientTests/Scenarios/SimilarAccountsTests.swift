// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Two people whose `sub` looks the same, and is the same to Swift's `==`, are two people.
///
/// - SeeAlso: [OpenID Connect Core §14](https://openid.net/specs/openid-connect-core-1_0.html#StringOperations)
@Suite(.timeLimit(.minutes(1)))
struct SimilarAccountsTests {
    /// A letter with its accent in one character or in two, and a letter and the sign that stands for a unit.
    static let subjects = [("\u{E9}", "e\u{301}"), ("\u{C5}", "\u{212B}"), ("K", "\u{212A}")]

    private func person(_ subject: String, named name: String) -> TestIdentityProvider.Person {
        .init(username: "\(name)@example.test", password: "secret", name: name, subject: subject, objectID: name)
    }

    @Test(arguments: subjects) func shareNoTokens(_ one: String, _ other: String) async throws {
        #expect(one == other)
        let setup = try TestSetup()
        let application = try setup.application()
        var signIns: [AuthenticationResult] = []
        for person in [person(one, named: "one"), person(other, named: "other")] {
            setup.provider.add(person)
            setup.browser.person = person
            setup.browser.forgetCookies()
            signIns.append(try await application.acquireTokenInteractively(scopes: ["api.read"]))
        }
        let accounts = signIns.map(\.account)
        #expect(accounts[0].id != accounts[1].id && Set(accounts.map(\.id)).count == 2)
        #expect(try await application.allAccounts() == accounts)
        for (account, signIn) in zip(accounts, signIns) {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: account)
            #expect(hit.source == .cache && hit.accessToken == signIn.accessToken)
            let forced = SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: true)
            let renewed = try await application.acquireTokenSilently(forced)
            #expect(renewed.account.username == account.username)
            let person = setup.provider.introspect(accessToken: renewed.accessToken)?.person
            #expect(person?.username == account.username)
        }
        try await application.remove(accounts[0])
        #expect(try await application.allAccounts() == [accounts[1]])
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: accounts[0])
        }
    }

    /// Where one of them was asked for, the other is another person.
    @Test(arguments: subjects) func areNotTakenForEachOther(_ one: String, _ other: String) async throws {
        let setup = try TestSetup()
        setup.provider.add(person(one, named: "one"))
        setup.browser.person = person(one, named: "one")
        let (application, first) = try await setup.signedIn()
        setup.provider.add(person(other, named: "other"))
        setup.browser.person = person(other, named: "other")
        setup.browser.forgetCookies()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = first.account
        try await expectError(.accountMismatch) { try await application.acquireTokenInteractively(parameters) }
    }
}
