// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
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
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failAlways(.token, with: refusal)
        stage.provider.forgetRequests()
        var last: AuthenticationError?
        for _ in 0..<500 {
            do {
                _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            } catch let error as AuthenticationError {
                last = error
            }
        }
        // The request is sent twice if it is uncertain whether the server acted on it.
        #expect((5...10).contains(stage.provider.count(of: .token)))
        #expect(last?.code == code && last?.retryAfter == .seconds(60))
        #expect(last?.underlyingError is AuthenticationError)
    }

    /// The loop limit does not handle refused refresh tokens, which are noted in the record (see `RefusedRefreshTokenTests`).
    /// A forced refresh is sent.
    @Test(arguments: [
        TestIdentityProvider.Fault.refusal("invalid_grant"), .emptyBadRequest, .refusal("access_denied"),
    ])
    func sendsFiveOfFiftyForcedRequests(_ refusal: TestIdentityProvider.Fault) async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.provider.failAlways(.token, with: refusal)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        stage.provider.forgetRequests()
        for count in 1...50 {
            let error = try await expectError(.signInExpired) { try await application.acquireTokenSilently(forced) }
            #expect((error.retryAfter == .seconds(60) && error.underlyingError is AuthenticationError) == (count > 5))
        }
        #expect(stage.provider.count(of: .token) == 5)
    }

    @Test func goesOnAfterAMinute() async throws {
        let stage = try Stage()
        let (application, first) = try await Self.looping(stage)
        stage.clock.advance(by: .seconds(59))
        let error = try await expectError(.loginRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(error.retryAfter == .seconds(1))
        stage.clock.advance(by: .seconds(1))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func goesOnWhenTheClockIsSetBack() async throws {
        let stage = try Stage()
        let (application, first) = try await Self.looping(stage)
        stage.clock.advance(by: .seconds(-600))
        let next = try await application.acquireTokenSilently(
            SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        )
        #expect(next.source == .identityProvider)
    }

    @Test func goesOnAfterASignIn() async throws {
        let stage = try Stage()
        let (application, first) = try await Self.looping(stage)
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let next = try await application.acquireTokenSilently(
            SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        )
        #expect(next.source == .identityProvider)
    }

    @Test func goesOnWhenAnotherProgramPutAnotherRefreshToken() async throws {
        let stage = try Stage()
        let (application, first) = try await Self.looping(stage)
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        #expect(try await stage.application().acquireTokenSilently(forced).source == .identityProvider)
        #expect(try await application.acquireTokenSilently(forced).source == .identityProvider)
    }

    @Test func doesNotStopOtherRequests() async throws {
        let stage = try Stage(.entra)
        let (application, first) = try await Self.looping(stage)
        let other = try await application.acquireTokenSilently(scopes: ["api.other"], account: first.account)
        #expect(other.source == .identityProvider)
    }

    @Test func countsNothingWhileOffline() async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.transport.isOffline = true
        for _ in 0..<20 {
            try await expectError(.connectionFailed) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        stage.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// A program that was stopped, and a provider that would answer again by now.
    private static func looping(_ stage: Stage) async throws -> (PublicClientApplication, AuthenticationResult) {
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failAlways(.token, with: .refusal("login_required"))
        for _ in 0..<5 {
            await #expect(throws: AuthenticationError.self) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        try await expectError(.loginRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        stage.provider.failAlways(.token, with: nil)
        return (application, first)
    }
}
