// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import StandIn
import Testing
import TodoListModel

@Suite(.timeLimit(.minutes(1)))
struct TodoServiceTests {
    private func service(
        _ standIn: StandIn,
        as person: TestIdentityProvider.Person = .alice,
        _ change: (inout TodoSettings) -> Void = { _ in }
    ) async throws -> TodoService {
        let browser = ScriptedBrowser(provider: nil, signingInAs: person)
        var settings = try TodoSettings(standIn: standIn.addresses)
        change(&settings)
        let session = try TodoSession(settings: settings, cache: InMemoryTokenCache()) { $0.browser = browser }
        return TodoService(session: session, account: try await session.signIn())
    }

    @Test(arguments: [TodoSettings.ContentType.json, .form])
    func addsAndCompletesTasksOfOnePerson(type: TodoSettings.ContentType) async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn) { $0.contentType = type }
        let text = "Käse & 牛乳 + 100 % \"für\" O'Neill=?"
        let task = try await alice.add(text)
        #expect(task.text == text && !task.isDone)
        #expect(try await alice.setDone(true, task).isDone)
        #expect(try await alice.tasks() == [TodoTask(id: task.id, text: text, isDone: true)])
        #expect(try await !alice.setDone(false, task).isDone)
        #expect(try await service(standIn, as: .bob).tasks().isEmpty)
    }

    @Test func goesOnAfterATokenWasRefusedOnce() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        standIn.faults.add(.init(.unauthorized, of: .tasks))
        #expect(try await alice.tasks().isEmpty)
        standIn.faults.add(.init(.claimsChallenge, of: .tasks))
        #expect(try await alice.tasks().isEmpty)
    }

    @Test func tellsWhatTheServiceSaid() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        standIn.faults.add(.init(.broken, of: .tasks))
        let broken = try await #require(throws: TodoServiceError.self) { try await alice.tasks() }
        #expect(broken.description == "The service is broken. [HTTP 500]")
        let empty = try await #require(throws: TodoServiceError.self) { try await alice.add("  ") }
        #expect(empty.status == 400)
    }

    @Test func needsThePersonWhenTheSignInWasRevoked() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        standIn.b2c.revokeSessions(of: .alice)
        let error = try await #require(throws: AuthenticationError.self) { try await alice.tasks() }
        #expect(error.code.primary == .interactionRequired)
    }
}
