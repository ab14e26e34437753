// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The library stops a program that asks in a tight loop, before the provider does (T13).
@Suite(.timeLimit(.minutes(1)))
struct RequestLoopTests {
    /// However often the program asks, the error says that a person is needed, or how the setup is wrong.
    static let refusals: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
        (.refusal("login_required"), .loginRequired),
        (.throttled(retryAfter: nil), .requestLoop), (.serverError(), .requestLoop), (.html, .requestLoop),
        (.refusal("invalid_client"), .clientNotRegistered),
    ]

    @Test(arguments: refusals)
    func sendsFiveOfFiveHundredIdenticalRequests(
        _ refusal: TestIdentityProvider.Fault,
        _ code: AuthenticationError.Code
    ) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: refusal)
        setup.provider.forgetRequests()
        var last: AuthenticationError?
        for _ in 0..<500 {
            do {
                _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            } catch let error as AuthenticationError {
                last = error
            }
        }
        // An answer that leaves open whether the server acted is asked for twice.
        #expect((5...10).contains(setup.provider.count(of: .token)))
        #expect(last?.code == code && last?.retryAfter == .seconds(60))
        #expect(last?.underlyingError is AuthenticationError)
    }

    /// The loop limit does not handle refused refresh tokens, which are noted in the record (see `RefusedRefreshTokenTests`).
    /// A forced refresh is sent.
    @Test(arguments: [
        TestIdentityProvider.Fault.refusal("invalid_grant"), .emptyBadRequest, .refusal("access_denied"),
    ])
    func sendsFiveOfFiftyForcedRequests(_ refusal: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.token, with: refusal)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        setup.provider.forgetRequests()
        for count in 1...50 {
            let error = try await expectError(.signInExpired) { try await application.acquireTokenSilently(forced) }
            #expect((error.retryAfter == .seconds(60) && error.underlyingError is AuthenticationError) == (count > 5))
        }
        #expect(setup.provider.count(of: .token) == 5)
    }

    @Test func sendsAgainAfterAMinute() async throws {
        let setup = try TestSetup()
        let (application, first) = try await Self.looping(setup)
        setup.clock.advance(by: .seconds(59))
        let error = try await expectError(.loginRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(error.retryAfter == .seconds(1))
        setup.clock.advance(by: .seconds(1))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func sendsAgainIfTheClockIsSetBack() async throws {
        let setup = try TestSetup()
        let (application, first) = try await Self.looping(setup)
        setup.clock.advance(by: .seconds(-600))
        let next = try await application.acquireTokenSilently(
            SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        )
        #expect(next.source == .identityProvider)
    }

    @Test func sendsAgainAfterASignIn() async throws {
        let setup = try TestSetup()
        let (application, first) = try await Self.looping(setup)
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let next = try await application.acquireTokenSilently(
            SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        )
        #expect(next.source == .identityProvider)
    }

    @Test func sendsAgainIfAnotherProgramStoredAnotherRefreshToken() async throws {
        let setup = try TestSetup()
        let (application, first) = try await Self.looping(setup)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        #expect(try await setup.application().acquireTokenSilently(forced).source == .identityProvider)
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
    }

    @Test func doesNotStopOtherRequests() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await Self.looping(setup)
        let other = try await application.acquireTokenSilently(scopes: ["api.other"], account: first.account)
        #expect(other.source == .identityProvider)
    }

    @Test func countsNothingWhileOffline() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.transport.isOffline = true
        for _ in 0..<20 {
            try await expectError(.connectionFailed) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        setup.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// A program that was stopped, and a provider that would answer again.
    private static func looping(_ setup: TestSetup) async throws -> (PublicClientApplication, AuthenticationResult) {
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: .refusal("login_required"))
        for _ in 0..<5 {
            await #expect(throws: AuthenticationError.self) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        try await expectError(.loginRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        setup.provider.failAlways(.token, with: nil)
        return (application, first)
    }
}
