// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import Notes
import Testing

@Suite(.timeLimit(.minutes(1))) struct NotesSessionTests {
    let clock = ManualClock()
    let provider: TestIdentityProvider
    let network: RecordingTransport
    let browser: ScriptedBrowser
    let configuration: ClientConfiguration
    let session: NotesSession

    init() throws {
        provider = try TestIdentityProvider(clock: clock)
        network = RecordingTransport(provider.transport)
        let receiver = InMemoryRedirectReceiver()
        browser = ScriptedBrowser(provider: provider, signingInAs: .alice, receiver: receiver)
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: InMemoryTokenCache()
        )
        configuration.transport = network
        configuration.browser = browser
        configuration.redirectReceiver = receiver
        configuration.clock = clock
        self.configuration = configuration
        session = try NotesSession(configuration)
    }

    @Test func signsInOnce() async throws {
        #expect(try await session.status() == .signInNeeded)
        #expect(browser.openedURLs.isEmpty)

        try await session.signIn()
        let requests = network.count
        #expect(try await session.status() == .signedIn(name: "alice@example.test"))
        let header = try await session.header()
        #expect(header.hasPrefix("Bearer "))
        #expect(provider.accepts(accessToken: String(header.dropFirst("Bearer ".count))))

        #expect(browser.openedURLs.count == 1)
        #expect(network.count == requests, "What is in the cache costs no request.")
    }

    @Test func findsTheSessionAgainAfterARestart() async throws {
        try await session.signIn()
        let restarted = try NotesSession(configuration)
        #expect(try await restarted.status() == .signedIn(name: "alice@example.test"))
        #expect(browser.openedURLs.count == 1)
    }

    @Test func staysSignedInAfterTheTokenExpired() async throws {
        try await session.signIn()
        let first = try await session.header()

        clock.advance(by: .seconds(3600))
        let second = try await session.header()
        #expect(second != first)
        #expect(provider.accepts(accessToken: String(second.dropFirst("Bearer ".count))))
        #expect(browser.openedURLs.count == 1)
    }

    @Test func asksAgainAfterRevocation() async throws {
        try await session.signIn()
        provider.revokeSessions(of: .alice)
        clock.advance(by: .seconds(3600))
        #expect(try await session.status() == .signInNeeded)
        #expect(browser.openedURLs.count == 1, "Asking for the status opens no browser.")

        try await session.signIn()
        #expect(try await session.status() == .signedIn(name: "alice@example.test"))
        #expect(browser.openedURLs.count == 2)
    }

    @Test func worksOffline() async throws {
        try await session.signIn()
        let header = try await session.header()

        network.isOffline = true
        #expect(try await session.header() == header)

        clock.advance(by: .seconds(3600))
        #expect(try await session.status() == .offline(name: "alice@example.test"))

        network.isOffline = false
        #expect(try await session.status() == .signedIn(name: "alice@example.test"))
        #expect(browser.openedURLs.count == 1, "Being offline is no reason to sign in again.")
    }

    @Test func acceptsThatThePersonSaysNo() async throws {
        browser.behaviour = .cancel
        await #expect { try await session.signIn() } throws: { error in
            (error as? AuthenticationError)?.family == .userCancelled
        }
        #expect(try await session.status() == .signInNeeded)
    }

    @Test func signsOut() async throws {
        try await session.signIn()
        try await session.signOut()
        #expect(try await session.status() == .signInNeeded)
        await #expect { try await session.header() } throws: { error in
            (error as? AuthenticationError)?.family == .interactionRequired
        }
    }
}
