// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import ServiceLifecycleTestKit
import Synchronization
import Testing
import TokenService

@Suite(.timeLimit(.minutes(1))) struct TokenServiceTests {
    /// Whether the service has ended.
    final class End: Sendable {
        private let isReached = Mutex(false)
        func reach() { isReached.withLock { $0 = true } }
        var wasReached: Bool { isReached.withLock { $0 } }
    }

    let clock = ManualClock()
    let provider: TestIdentityProvider
    let configuration: ClientConfiguration
    let application: PublicClientApplication

    init() throws {
        provider = try TestIdentityProvider(clock: clock)
        let receiver = InMemoryRedirectReceiver()
        let browser = ScriptedBrowser(provider: provider, receiver: receiver)
        var configuration = provider.configuration(browser: browser)
        configuration.redirectReceiver = receiver
        configuration.clock = clock
        self.configuration = configuration
        application = try PublicClientApplication(configuration)
    }

    @Test func finishesARefreshAtTheEnd() async throws {
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        clock.advance(by: .seconds(3600))
        let (gate, requests) = (TestGate(), provider.count(of: .token))
        provider.failNext(.token, with: .held(by: gate))

        let (end, service) = (End(), TokenService(application, parameters) { _ in })
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await service.run()
                    end.reach()
                }
                try await provider.waitForRequest(.token, count: requests + 1)
                trigger.triggerGracefulShutdown()
                #expect(!end.wasReached, "The server has not answered.")
                gate.open()
                try await group.waitForAll()
            }
        }

        // Another process finds what came.
        let next = try await PublicClientApplication(configuration).acquireTokenSilently(parameters)
        #expect(next.source == .cache && next.accessToken != first.accessToken)
        #expect(provider.count(of: .token) == requests + 1)
    }

    @Test func handsOutTheTokenOfNow() async throws {
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        try await testGracefulShutdown { trigger in
            try await TokenService(application, parameters) { token in
                #expect(token.accessToken == first.accessToken)
                trigger.triggerGracefulShutdown()
            }
            .run()
        }
    }

    @Test func endsWithTheSignIn() async throws {
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        provider.revokeSessions(of: .alice)
        clock.advance(by: .seconds(3600))
        let error = await #expect(throws: AuthenticationError.self) {
            try await TokenService(application, parameters) { _ in }.run()
        }
        #expect(error?.family == .interactionRequired)
    }
}
