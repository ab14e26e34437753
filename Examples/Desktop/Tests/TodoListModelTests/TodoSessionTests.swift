// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import StandIn
import Testing
import TodoListModel

/// The session at the stand-in, with a person in front of a browser.
@Suite(.timeLimit(.minutes(1)))
struct TodoSessionTests {
    private struct Desk {
        let standIn: StandIn
        let browser: ScriptedBrowser
        let cache = InMemoryTokenCache()
        var settings: TodoSettings

        init(as person: TestIdentityProvider.Person = .alice) async throws {
            standIn = try await StandIn.start()
            browser = ScriptedBrowser(provider: nil, signingInAs: person)
            settings = try TodoSettings(standIn: standIn.addresses)
        }

        func session() throws -> TodoSession {
            try TodoSession(settings: settings, cache: cache) { $0.browser = browser }
        }
    }

    @Test func remembersWhoSignedInUntilTheySignOut() async throws {
        let desk = try await Desk()
        let session = try desk.session()
        #expect(try await session.account() == nil)
        let account = try await session.signIn()
        #expect(try await desk.session().account()?.id == account.id)
        try await session.signOut(account)
        #expect(try await desk.session().account() == nil)
    }

    @Test func asksAgainForAnotherPerson() async throws {
        let desk = try await Desk()
        let session = try desk.session()
        let alice = try await session.signIn()
        try await session.signOut(alice)
        desk.browser.person = .bob
        #expect(try await desk.session().signIn().displayName == "Bob Example", "the browser remembers Alice")
        #expect(alice.displayName == "Alice Example")
    }

    @Test func resetsAForgottenPasswordOnTheWay() async throws {
        let desk = try await Desk()
        desk.browser.person.password = "a new one"
        desk.browser.behaviour = .forgetPassword
        let steps = Steps()
        let account = try await desk.session().signIn(visit: steps.visit)
        #expect(account.displayName == "Alice Example")
        #expect(await steps.all == [.signingIn, .resettingPassword, .signingIn])
        #expect(try await desk.session().account()?.id == account.id)
    }

    @Test func saysWhatIsMissingWhereNoPolicyResetsPasswords() async throws {
        var desk = try await Desk()
        desk.settings.resetPassword = nil
        desk.browser.behaviour = .forgetPassword
        let session = try desk.session()
        let error = await #expect(throws: AuthenticationError.self) { try await session.signIn() }
        #expect(error?.message.contains("resetPasswordPolicy") == true)
    }

    @Test func isNotSignedInAfterTheResetAlone() async throws {
        let desk = try await Desk()
        var parameters = InteractiveParameters(scopes: desk.settings.scopes)
        parameters.authority = try #require(desk.settings.resetPassword).authority
        let session = try desk.session()
        _ = try await session.application.acquireTokenInteractively(parameters)
        #expect(try await session.application.allAccounts().count == 1)
        #expect(try await session.account() == nil)
    }

    @Test func editsTheName() async throws {
        let desk = try await Desk()
        let session = try desk.session()
        let account = try await session.signIn()
        desk.browser.person.name = "Álice"
        let steps = Steps()
        #expect(try await session.editProfile(of: account, visit: steps.visit).displayName == "Álice")
        #expect(await steps.all == [.editingProfile])
        #expect(try await desk.session().account()?.displayName == "Álice")
    }
}

private actor Steps {
    var all: [TodoSession.Step] = []

    nonisolated var visit: TodoSession.Visit {
        { application, parameters, step in
            await self.add(step)
            return try await application.acquireTokenInteractively(parameters)
        }
    }

    private func add(_ step: TodoSession.Step) { all.append(step) }
}
