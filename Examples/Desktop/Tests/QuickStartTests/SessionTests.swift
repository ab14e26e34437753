// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import IdentityTesting
import StandIn
import TestSupport
import Testing

@testable import QuickStart

/// The session at the stand-in, with people in front of a browser.
@Suite(.timeLimit(.minutes(1)))
struct SessionTests {
    private let standIn: StandIn
    private let browser: ScriptedBrowser
    private let session: Session

    init() async throws {
        standIn = try await StandIn.start()
        browser = ScriptedBrowser(provider: nil, signingInAs: .alice)
        var configuration = ClientConfiguration(
            clientID: standIn.addresses.clientID,
            authority: standIn.addresses.authority,
            cache: InMemoryTokenCache()
        )
        configuration.browser = browser
        session = Session(
            application: try PublicClientApplication(configuration),
            graphURL: standIn.addresses.graph,
            scopes: ["User.Read"],
            endsBrowserSession: false
        )
    }

    private func call(asAnother: Bool = false) async throws -> GraphAnswer {
        try await session.callGraph(asAnother: asAnother) { [session] parameters in
            try await session.application.acquireTokenInteractively(parameters)
        }
    }

    @Test func saysWhereTheTokenCameFrom() async throws {
        MainLoop.start()
        #expect(try await call().source == .identityProvider)
        #expect(try await call().source == .cache)
        standIn.faults.add(.init(.unauthorized, of: .graph))
        let renewed = try await call()
        #expect(renewed.status == 200)
        #expect(renewed.source == .identityProvider)
    }

    @Test func hasThePersonChooseBetweenSeveral() async throws {
        MainLoop.start()
        let alice = try await call().account
        browser.forgetCookies()
        browser.person = .bob
        let bob = try await call(asAnother: true).account
        browser.forgetCookies()
        // The browser types the name and the password; the provider determines the rest.
        browser.person.username = "maire@example.test"
        browser.person.password = TestIdentityProvider.Person.alice.password
        let maire = try await call(asAnother: true).account
        _ = try await session.signOut(maire)
        guard case .choice(let accounts) = try await session.accounts() else {
            Issue.record("somebody was chosen")
            return
        }
        #expect(Set(accounts.map(\.id)) == [alice.id, bob.id])
        await #expect(throws: AuthenticationError.self) { try await call() }
        try await session.choose(alice)
        guard case .known(let chosen) = try await session.accounts() else {
            Issue.record("nobody was chosen")
            return
        }
        #expect(chosen.current?.id == alice.id)
        #expect(try await call().account.id == alice.id)
    }
}
