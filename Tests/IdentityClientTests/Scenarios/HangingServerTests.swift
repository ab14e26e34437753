// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A silent server does not keep a program waiting.
@Suite(.timeLimit(.minutes(1)))
struct HangingServerTests {
    @Test(arguments: [TestIdentityProvider.Endpoint.discovery, .token, .keys])
    func givesUpASignInAtTheDeadline(_ endpoint: TestIdentityProvider.Endpoint) async throws {
        let setup = try TestSetup()
        let gate = TestGate()
        setup.provider.failAlways(endpoint, with: .held(by: gate))
        let application = try setup.application { $0.requestTimeout = .milliseconds(200) }
        let begin = ContinuousClock.now
        let error = try await expectError(.networkTimedOut) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(ContinuousClock.now - begin < .seconds(10))
        #expect(error.message.contains("login.example.test"))
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        setup.provider.failAlways(endpoint, with: nil)
        gate.open()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func givesUpARefreshAtTheDeadlineAndKeepsTheRefreshToken() async throws {
        let setup = try TestSetup { $0.rotatesRefreshTokens = false }
        let (application, first) = try await setup.signedIn { $0.requestTimeout = .milliseconds(200) }
        let before = try await setup.storedCredentials(of: application)
        setup.clock.advance(by: .seconds(3600))
        let gate = TestGate()
        setup.provider.failAlways(.token, with: .held(by: gate))
        try await expectError(.networkTimedOut) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await setup.storedCredentials(of: application) == before)
        setup.provider.failAlways(.token, with: nil)
        gate.open()
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// Six requests for one account do not run into six time-outs in a row.
    @Test func waitsOnceForAllWishesOfAnAccount() async throws {
        let setup = try TestSetup(.entra)
        // All six are waiting by the time that it is over.
        let (application, first) = try await setup.signedIn { $0.requestTimeout = .seconds(1) }
        let gate = TestGate()
        setup.provider.failAlways(.token, with: .held(by: gate))
        let callers = (0..<6).map { number in
            Task.immediate {
                try await application.acquireTokenSilently(scopes: ["api.\(number)"], account: first.account)
            }
        }
        for caller in callers { try await expectError(.networkTimedOut) { try await caller.value } }
        // One that stood still for longer than the limit sends the refresh token no second time.
        #expect((1...2).contains(setup.provider.requests.count { $0["refresh_token"] != nil }))
        setup.provider.failAlways(.token, with: nil)
        gate.open()
        let next = try await application.acquireTokenSilently(scopes: ["api.5"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [TestIdentityProvider.Endpoint.discovery, .token, .keys])
    func endsASignInThatIsCancelledWhileTheServerIsSilent(_ endpoint: TestIdentityProvider.Endpoint) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let gate = TestGate()
        setup.provider.failNext(endpoint, with: .held(by: gate))
        let application = try setup.application()
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(endpoint)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        if endpoint != .discovery {
            let port = try #require(setup.provider.redirectPort)
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
            // The port is free at once, so that the browser need not have got an answer; but never that of a success.
            #expect(setup.browser.pages.allSatisfy { !$0.body.contains("The sign-in is complete") })
        }
        gate.open()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }
}
