// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// An Entra ID application with claims mapping. Its signing key is not in the set for all applications, but in a separate
/// set whose address contains the application's identifier (`appid`).
@Suite(.timeLimit(.minutes(1)))
struct ApplicationKeyTests {
    /// The key of RFC 7515 appendix A.3, under a name that no token uses.
    private static let commonKeys: TestIdentityProvider.Fault = .changing(
        "keys",
        to: """
            [{"kty":"EC","crv":"P-256","use":"sig","kid":"common",
              "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
              "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]
            """
    )

    /// Whose keys were asked for, in turn; `-` for those of all.
    private func askedFor(_ setup: TestSetup) -> [String] {
        setup.provider.requests.filter { $0.endpoint == .keys }.map { $0["appid"] ?? "-" }
    }

    @Test func findsTheApplicationsOwnKeyAndKeepsIt() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failNext(.keys, with: Self.commonKeys)
        let (application, first) = try await setup.signedIn()
        #expect(askedFor(setup) == ["-", "test-client"])
        // Neither a refresh nor a program that starts anew asks again while both sets are fresh.
        var before = first
        for application in [application, try setup.application()] {
            setup.clock.advance(by: .seconds(3600))
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider && next.idToken != before.idToken)
            before = next
        }
        #expect(askedFor(setup) == ["-", "test-client"])
    }

    @Test func fetchesTheOwnSetAnewWhenItsKeyWasReplaced() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failNext(.keys, with: Self.commonKeys)
        let (application, first) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.idToken != first.idToken)
        #expect(askedFor(setup) == ["-", "test-client", "test-client"])
    }

    /// One application's set is not used for all applications, nor for another one.
    @Test func keepsTheSetsOfTwoApplicationsApart() async throws {
        let setup = try TestSetup(.entra, clients: [.init(), .init(id: "other-client")])
        let group = try CacheGroup("shared")
        setup.provider.failNext(.keys, with: Self.commonKeys)
        _ = try await setup.signedIn { $0.cacheGroup = group }
        let other = try setup.application { configuration in
            configuration.clientID = "other-client"
            configuration.cacheGroup = group
        }
        _ = try await other.acquireTokenInteractively(scopes: ["api.read"])
        #expect(askedFor(setup) == ["-", "test-client", "other-client"])
    }

    @Test func findsANewCommonKeyInTheSameWay() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.idToken != first.idToken)
        #expect(askedFor(setup) == ["-", "test-client"])
    }

    /// No sign-in depends on a set that most applications do not need.
    @Test func findsANewCommonKeyWhereTheOwnSetCannotBeHad() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.keys, with: .answer(status: 404))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.idToken != first.idToken)
        #expect(askedFor(setup) == ["-", "test-client", "-"])
    }

    /// The set for all does not contain the key, so the signer is unknown even if the other set cannot be fetched.
    @Test func refusesAForgedTokenWhereTheOwnSetCannotBeHad() async throws {
        let setup = try TestSetup(.entra)
        let (application, _) = try await setup.signedIn()
        setup.provider.failNext(.keys, with: .answer(status: 404))
        setup.provider.tamperNextIDToken(with: .keyID("made-up"))
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
    }

    /// Otherwise a hanging server would cost one wait for each place that needs the keys.
    @Test(arguments: [(TestIdentityProvider.Profile.openIDConnect, 1), (.entra, 2)])
    func asksASetThatCannotBeHadOnce(_ profile: TestIdentityProvider.Profile, _ count: Int) async throws {
        let setup = try TestSetup(profile)
        setup.provider.failAlways(.keys, with: .serverError())
        try await expectError(.serverUnavailable) { _ = try await setup.signedIn() }
        #expect(setup.provider.count(of: .keys) == count)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .adfs, .b2c])
    func otherProvidersHaveNoSuchSets(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (application, first) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.idToken != first.idToken)
        #expect(askedFor(setup) == ["-", "-"])
    }

    @Test func asksNoMoreThanThreeTimesForAForgedToken() async throws {
        let setup = try TestSetup(.entra)
        let (application, _) = try await setup.signedIn()
        for (wait, count) in [(Duration.zero, 4), (.seconds(299), 4), (.seconds(1), 6)] {
            setup.clock.advance(by: wait)
            setup.provider.tamperNextIDToken(with: .keyID("made-up"))
            try await expectError(.invalidIDToken) {
                try await application.acquireTokenInteractively(scopes: ["api.read"])
            }
            #expect(setup.provider.count(of: .keys) == count)
        }
    }
}
