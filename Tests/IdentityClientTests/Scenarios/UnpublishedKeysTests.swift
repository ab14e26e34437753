// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A provider whose configuration names no keys (`jwks_uri`).
@Suite(.timeLimit(.minutes(1)))
struct UnpublishedKeysTests {
    private func setup() throws -> TestSetup {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("jwks_uri", to: nil))
        return setup
    }

    @Test func isRefusedUnlessTheProgramBelievesIt() async throws {
        let setup = try setup()
        let application = try setup.application()
        let error = try await expectError(.unsupported) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("jwks_uri"))
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test func signsInWhereTheProgramBelievesIt() async throws {
        let setup = try setup()
        let (application, first) = try await setup.signedIn { $0.compatibility.allowsUnpublishedKeys = true }
        #expect(first.account.username == "alice@example.test")
        #expect(setup.provider.count(of: .keys) == 0)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.idToken != first.idToken)
    }

    /// Only the signature is unchecked, and therefore also which of the accepted algorithms made it.
    private static let wrong = RefusedIDTokenTests.wrong.filter {
        !["signature", "key", "kid", "alg ES256", "alg RS512"].contains($0.0)
    }

    @Test(arguments: wrong.indices)
    func refusesAWrongIDTokenAllTheSame(_ index: Int) async throws {
        let (name, tampering) = Self.wrong[index]
        let setup = try setup()
        let application = try setup.application { $0.compatibility.allowsUnpublishedKeys = true }
        setup.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await setup.storedCredentials(of: application).isEmpty, "\(name)")
    }

    @Test(arguments: [IDTokenTampering.brokenSignature, .unpublishedKey])
    func verifiesByThePublishedKeysWhereThereAreAny(_ tampering: IDTokenTampering) async throws {
        let setup = try TestSetup()
        let application = try setup.application { $0.compatibility.allowsUnpublishedKeys = true }
        setup.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }
}
