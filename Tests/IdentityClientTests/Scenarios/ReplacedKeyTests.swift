// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A provider that replaces its key and keeps the key's name.
@Suite(.timeLimit(.minutes(1)))
struct ReplacedKeyTests {
    @Test func signsInAfterAKeyWasReplacedUnderItsName() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn()
        #expect(setup.provider.count(of: .keys) == 1)
        setup.provider.replaceSigningKey()
        // A program that starts now finds the old keys in the cache.
        let restarted = try setup.application()
        #expect(try await restarted.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(setup.provider.count(of: .keys) == 2)
        let next = try setup.application()
        #expect(try await next.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(setup.provider.count(of: .keys) == 2, "What was fetched rests in the cache.")
    }

    @Test func refreshesAfterAKeyWasReplacedUnderItsName() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        for count in 2...3 {
            setup.provider.replaceSigningKey()
            setup.clock.advance(by: .seconds(3600))
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider && next.idToken != first.idToken)
            #expect(setup.provider.count(of: .keys) == count)
        }
    }

    /// Such a provider publishes one key, and its tokens do not name it.
    @Test func signsInAfterAKeyWithoutANameWasReplaced() async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: .keyID(nil), .keyID(nil))
        let (application, _) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(setup.provider.count(of: .keys) == 2)
    }

    /// The key of RFC 7515 appendix A.3, published at first under the name of the signing key.
    @Test func signsInAfterAKeyBecameOneOfAnotherType() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(
            .keys,
            with: .changing(
                "keys",
                to: """
                    [{"kty":"EC","crv":"P-256","use":"sig","kid":"key-1",
                      "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                      "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]
                    """
            )
        )
        let (application, result) = try await setup.signedIn()
        #expect(setup.provider.count(of: .keys) == 2)
        #expect(try await application.allAccounts() == [result.account])
    }

    static let forged: [IDTokenTampering] = [.keyID("made-up"), .brokenSignature, .unpublishedKey]

    @Test(arguments: forged.indices)
    func asksForKeysOnceInFiveMinutesHoweverATokenIsForged(_ index: Int) async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        #expect(setup.provider.count(of: .keys) == 1)
        for (wait, count) in [(Duration.zero, 2), (.seconds(299), 2), (.seconds(1), 3), (.seconds(1), 3)] {
            setup.clock.advance(by: wait)
            setup.provider.tamperNextIDToken(with: Self.forged[index])
            try await expectError(.invalidIDToken) {
                try await application.acquireTokenInteractively(scopes: ["api.read"])
            }
            #expect(setup.provider.count(of: .keys) == count, "A stream of forgeries is not to be one of requests.")
        }
    }

    /// The signer is uncertain only if the key is unknown: see `RefreshAnswerTests/refreshesWhenTheKeysCannotBeHad`.
    @Test(arguments: [TestIdentityProvider.Fault.drop, .serverError(), .html])
    func staysWrongWhereNoOtherKeysCanBeHad(_ fault: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.keys, with: fault)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.tamperNextIDToken(with: .brokenSignature, .brokenSignature)
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        // The refresh token of the refused answer was stored, and the next answer is correct.
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.idToken != first.idToken)
    }

    /// Such a token is wrong with any keys.
    @Test(arguments: ["none", "HS256"])
    func asksForNoKeysWhereTheAlgorithmIsNotAccepted(_ algorithm: String) async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        setup.provider.tamperNextIDToken(with: .algorithm(algorithm))
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(setup.provider.count(of: .keys) == 1)
    }
}
