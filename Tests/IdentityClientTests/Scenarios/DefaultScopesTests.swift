// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Scopes that are requested in addition to the program's own.
@Suite(.timeLimit(.minutes(1)))
struct DefaultScopesTests {
    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .adfs])
    func asksForNothingBeyondWhatTheProgramSays(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (_, result) = try await setup.signedIn { $0.compatibility.defaultScopes = ["openid"] }
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["scope"] == "api.read openid")
        #expect(result.idToken != nil && setup.provider.accepts(accessToken: result.accessToken))
    }

    @Test func takesOpenIDFromTheProgramsOwn() async throws {
        let setup = try TestSetup()
        let (_, result) = try await setup.signedIn(scopes: ["api.read", "openid"]) {
            $0.compatibility.defaultScopes = []
        }
        #expect(result.idToken != nil)
    }

    /// The sign-in is refused before the person signs in in vain.
    @Test(arguments: [[], ["offline_access"]] as [Set<Scope>])
    func refusesASignInThatCannotSayWhoItIs(_ scopes: Set<Scope>) async throws {
        let setup = try TestSetup()
        let application = try setup.application { $0.compatibility.defaultScopes = scopes }
        let errors = [
            try await expectError(.invalidArgument) { try await application.acquireTokenInteractively(scopes: ["a"]) },
            try await expectError(.invalidArgument) {
                try await application.prepareAuthorization(InteractiveParameters(scopes: ["a"]))
            },
            try await expectError(.invalidArgument) {
                try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["a"])) { _ in }
            },
        ]
        #expect(
            errors.allSatisfy { $0.message.contains("needs openid") && $0.message.contains("plain OAuth 2.0 server") }
        )
        #expect(setup.provider.requests.isEmpty)
    }

    @Test func namesWhatItAddedWhereAScopeIsRefused() async throws {
        let setup = try TestSetup { $0.knownScopes = ["other"] }
        let application = try setup.application()
        let inBrowser = try await expectError(.invalidScope) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        let onDevice = try await expectError(.invalidScope) {
            try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["api.read"])) { _ in }
        }
        let pushing = try TestSetup {
            $0.knownScopes = ["other"]
            $0.pushedAuthorizationRequests = .required
        }
        let pushed = try await expectError(.invalidScope) {
            try await pushing.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        // Keycloak, of a person who may not have tokens for a time without a session.
        let permissive = try TestSetup()
        permissive.provider.failNext(.token, with: .refusal("not_allowed"))
        let afterwards = try await expectError(.invalidScope) {
            try await permissive.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        for error in [inBrowser, onDevice, pushed, afterwards] {
            let named = "Asked for: api.read. Added by default: offline_access, openid, profile;"
            #expect(error.message.contains(named), "\(error.message)")
        }
        let alone = try setup.application { $0.compatibility.defaultScopes = [] }
        let own = try await expectError(.invalidScope) {
            try await alone.acquireTokenInteractively(scopes: ["api.read", "openid"])
        }
        #expect(!own.message.contains("Added by default"))
    }
}
