// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import Testing

/// A provider whose configuration names no keys (`jwks_uri`).
@Suite(.timeLimit(.minutes(1)))
struct UnpublishedKeysTests {
    private func stage() throws -> Stage {
        let stage = try Stage()
        stage.provider.failAlways(.discovery, with: .changing("jwks_uri", to: nil))
        return stage
    }

    @Test func isRefusedUnlessTheProgramBelievesIt() async throws {
        let stage = try stage()
        let application = try stage.application()
        let error = try await expectError(.unsupported) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("jwks_uri"))
        #expect(try await stage.storedCredentials(of: application).isEmpty)
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test func signsInWhereTheProgramBelievesIt() async throws {
        let stage = try stage()
        let (application, first) = try await stage.signedIn { $0.compatibility.allowsUnpublishedKeys = true }
        #expect(first.account.username == "alice@example.test")
        #expect(stage.provider.count(of: .keys) == 0)
        stage.clock.advance(by: .seconds(3600))
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
        let stage = try stage()
        let application = try stage.application { $0.compatibility.allowsUnpublishedKeys = true }
        stage.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await stage.storedCredentials(of: application).isEmpty, "\(name)")
    }

    @Test(arguments: [IDTokenTampering.brokenSignature, .unpublishedKey])
    func verifiesByThePublishedKeysWhereThereAreAny(_ tampering: IDTokenTampering) async throws {
        let stage = try Stage()
        let application = try stage.application { $0.compatibility.allowsUnpublishedKeys = true }
        stage.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(try await stage.storedCredentials(of: application).isEmpty)
    }
}
