// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Expired tokens that the provider allows in an outage.
@Suite(.timeLimit(.minutes(1)))
struct ExtendedLifetimeTests {
    /// Signed in, with a token that has expired and is in its extended lifetime of two hours.
    private func expired(
        allows: Bool = true,
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) async throws -> (TestSetup, PublicClientApplication, AuthenticationResult) {
        let setup = try TestSetup(.entra) { settings in
            settings.extendedLifetime = .seconds(7200)
            change(&settings)
        }
        let (application, first) = try await setup.signedIn { $0.entra.allowsExtendedLifetime = allows }
        #expect(!first.isExtendedLifetimeToken)
        setup.clock.advance(by: .seconds(3601))
        return (setup, application, first)
    }

    private static let outages: [TestIdentityProvider.Fault] = [
        .drop, .serverError(status: 500), .serverError(status: 503, retryAfter: .seconds(600)),
        .throttled(retryAfter: .seconds(600)),
    ]

    @Test(arguments: outages.indices) func bridgesAnOutage(_ index: Int) async throws {
        let (setup, application, first) = try await expired()
        setup.provider.failAlways(.token, with: Self.outages[index])
        for _ in 1...8 {  // more than the failures after which the library itself makes a pause
            let result = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(result.isExtendedLifetimeToken && result.source == .cache)
            #expect(result.accessToken == first.accessToken && result.expiresOn == first.expiresOn)
        }
        // The end of the extended lifetime.
        setup.clock.advance(by: .seconds(3599))
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        setup.provider.failAlways(.token, with: nil)
        setup.clock.advance(by: .seconds(600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && !next.isExtendedLifetimeToken)
    }

    /// A program that starts in the outage finds the time in the record.
    @Test func bridgesAMissingNetworkAlsoInANewProgram() async throws {
        let (setup, application, first) = try await expired()
        setup.transport.isOffline = true
        for application in [application, try setup.application { $0.entra.allowsExtendedLifetime = true }] {
            let result = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(result.isExtendedLifetimeToken && result.accessToken == first.accessToken)
        }
        setup.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// Another computer may be answering in the provider's place.
    @Test func isNoWayAroundAnUntrustedCertificate() async throws {
        struct Untrusted: HTTPTransport {
            func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
                throw AuthenticationError(.tlsFailed, "Not trusted.")
            }
        }
        let (setup, _, first) = try await expired()
        let application = try setup.application {
            $0.entra.allowsExtendedLifetime = true
            $0.transport = Untrusted()
        }
        try await expectError(.tlsFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    @Test func isOffUnlessSet() async throws {
        let (setup, application, first) = try await expired(allows: false)
        setup.transport.isOffline = true
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    @Test func needsTheProvidersPermission() async throws {
        let (setup, application, first) = try await expired { $0.extendedLifetime = nil }
        setup.transport.isOffline = true
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    @Test func isNoWayAroundARefusalOrAForcedRefresh() async throws {
        let refusals: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
            (.refusal("invalid_grant"), .signInExpired), (.refusal("interaction_required"), .interactionRequired),
            (WrongAnswer.blockPage(status: 403), .malformedResponse),
        ]
        for (fault, code) in refusals {
            let (setup, application, first) = try await expired()
            setup.provider.failAlways(.token, with: fault)
            try await expectError(code) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        let (setup, application, first) = try await expired()
        setup.transport.isOffline = true
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
        }
        // A token for other scopes is no substitute.
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["mail.read"], account: first.account)
        }
    }

    /// The renewal was refused while the token was still valid, and is not repeated for a minute: that is no outage.
    @Test func remembersWhyTheEarlyRenewalFailed() async throws {
        for (fault, isBridged) in [(TestIdentityProvider.Fault.refusal("invalid_grant"), false), (.drop, true)] {
            let setup = try TestSetup(.entra) { $0.extendedLifetime = .seconds(7200) }
            let (application, first) = try await setup.signedIn { $0.entra.allowsExtendedLifetime = true }
            setup.clock.advance(by: .seconds(3590))
            setup.provider.failAlways(.token, with: fault)
            let alive = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(alive.accessToken == first.accessToken && !alive.isExtendedLifetimeToken)
            setup.clock.advance(by: .seconds(20))
            let result = try? await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(result?.isExtendedLifetimeToken == (isBridged ? true : nil))
        }
    }
}
