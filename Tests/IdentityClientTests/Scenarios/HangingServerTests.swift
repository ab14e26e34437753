// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

/// A silent server does not keep a program waiting.
@Suite(.timeLimit(.minutes(1)))
struct HangingServerTests {
    @Test(arguments: [TestIdentityProvider.Endpoint.discovery, .token, .keys])
    func givesUpASignInAtTheDeadline(_ endpoint: TestIdentityProvider.Endpoint) async throws {
        let stage = try Stage()
        let gate = Gate()
        stage.provider.failAlways(endpoint, with: .held(by: gate))
        let application = try stage.application { $0.requestTimeout = .milliseconds(200) }
        let begin = ContinuousClock.now
        let error = try await expectError(.networkTimedOut) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(ContinuousClock.now - begin < .seconds(10))
        #expect(error.message.contains("login.example.test"))
        #expect(try await stage.storedCredentials(of: application).isEmpty)
        stage.provider.failAlways(endpoint, with: nil)
        gate.open()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func givesUpARefreshAtTheDeadlineAndKeepsTheRefreshToken() async throws {
        let stage = try Stage { $0.rotatesRefreshTokens = false }
        let (application, first) = try await stage.signedIn { $0.requestTimeout = .milliseconds(200) }
        let before = try await stage.storedCredentials(of: application)
        stage.clock.advance(by: .seconds(3600))
        let gate = Gate()
        stage.provider.failAlways(.token, with: .held(by: gate))
        try await expectError(.networkTimedOut) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await stage.storedCredentials(of: application) == before)
        stage.provider.failAlways(.token, with: nil)
        gate.open()
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// Six requests for one account do not run into six time-outs in a row.
    @Test func waitsOnceForAllWishesOfAnAccount() async throws {
        let stage = try Stage(.entra)
        // All six wait before the time-out ends.
        let (application, first) = try await stage.signedIn { $0.requestTimeout = .seconds(1) }
        let gate = Gate()
        stage.provider.failAlways(.token, with: .held(by: gate))
        let callers = (0..<6).map { number in
            Task.immediate {
                try await application.acquireTokenSilently(scopes: ["api.\(number)"], account: first.account)
            }
        }
        for caller in callers { try await expectError(.networkTimedOut) { try await caller.value } }
        #expect(stage.provider.requests.count { $0["refresh_token"] != nil } == 2)
        stage.provider.failAlways(.token, with: nil)
        gate.open()
        let next = try await application.acquireTokenSilently(scopes: ["api.5"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [TestIdentityProvider.Endpoint.discovery, .token, .keys])
    func endsASignInThatIsCancelledWhileTheServerIsSilent(_ endpoint: TestIdentityProvider.Endpoint) async throws {
        let stage = try Stage(listensOnLoopback: true)
        let gate = Gate()
        stage.provider.failNext(endpoint, with: .held(by: gate))
        let application = try stage.application()
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await stage.provider.waitForRequest(endpoint)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await stage.storedCredentials(of: application).isEmpty)
        if endpoint != .discovery {
            let port = try #require(stage.provider.redirectPort)
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
            // The port is free at once, so the browser may not have received an answer, but never one that reports success.
            #expect(stage.browser.pages.allSatisfy { !$0.body.contains("The sign-in is complete") })
        }
        gate.open()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }
}
