// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityTesting
import StandIn
import Synchronization
import Testing
import TodoListModel

@Suite(.timeLimit(.minutes(1)))
struct TodoServiceTests {
    private func service(
        _ standIn: StandIn,
        as person: TestIdentityProvider.Person = .alice,
        sample: SampleService? = nil,
        _ change: (inout TodoSettings) -> Void = { _ in }
    ) async throws -> TodoService {
        let browser = ScriptedBrowser(provider: nil, signingInAs: person)
        var settings = try TodoSettings(standIn: standIn.addresses)
        change(&settings)
        let session = try TodoSession(settings: settings, cache: InMemoryTokenCache()) {
            $0.browser = browser
            if let sample { $0.transport = sample }
        }
        return TodoService(session: session, account: try await session.signIn())
    }

    @Test(arguments: [TodoSettings.ContentType.json, .form])
    func addsAndCompletesTasksOfOnePerson(type: TodoSettings.ContentType) async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn) { $0.contentType = type }
        let text = "Käse & 牛乳 + 100 % \"für\" O'Neill=?"
        try await alice.add(text)
        let task = try #require(try await alice.tasks().first)
        #expect(task.text == text && !task.isDone)
        #expect(try await alice.setDone(true, task).isDone)
        #expect(try await alice.tasks() == [TodoTask(id: task.id, text: text, isDone: true)])
        #expect(try await !alice.setDone(false, task).isDone)
        #expect(try await alice.tasks().first?.isDone == false)
        #expect(try await service(standIn, as: .bob).tasks().isEmpty)
    }

    @Test func removesATask() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        try await alice.add("牛乳")
        try await alice.add("パン")
        let task = try #require(try await alice.tasks().first)
        try await alice.remove(task)
        #expect(try await alice.tasks().map(\.text) == ["パン"])
    }

    /// Plays the answers of the sample's own service, written in ASP.NET.
    @Test func speaksToTheSamplesOwnService() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let sample = SampleService()
        let alice = try await service(standIn, sample: sample)
        #expect(try await alice.tasks() == [TodoTask(id: 3, text: "Käse", isDone: false)])
        try await alice.add("a b")
        let task = TodoTask(id: 3, text: "Käse", isDone: false)
        let error = try await #require(throws: TodoServiceError.self) { try await alice.setDone(true, task) }
        #expect(error.description == "Tasks cannot be marked as done. Remove the task instead. [HTTP 405]")
        try await alice.remove(task)
        let requests = sample.requests.withLock { $0 }
        #expect(requests == ["GET /api/tasks", "POST /api/tasks", "PUT /api/tasks/3", "DELETE /api/tasks/3"])
        #expect(sample.posted.withLock { $0 } == #"{"Text":"a b"}"#)
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

    @Test func addsARemovedTaskAgainAsItWas() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        for (text, isDone) in [("milk", false), ("bread", true)] {
            try await alice.add(text)
            var task = try #require(try await alice.tasks().last)
            if isDone { task = try await alice.setDone(true, task) }
            try await alice.remove(task)
            try await alice.restore(task)
            let restored = try #require(try await alice.tasks().last)
            #expect(restored.text == text && restored.isDone == isDone)
        }
    }

    @Test func needsThePersonWhenTheSignInWasRevoked() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let alice = try await service(standIn)
        standIn.b2c.revokeSessions(of: .alice)
        let error = try await #require(throws: AuthenticationError.self) { try await alice.tasks() }
        #expect(error.family == .interactionRequired)
    }
}

/// A transport that answers requests for tasks like `TaskService` of Microsoft's
/// active-directory-b2c-dotnet-webapp-and-webapi, and passes on all other requests.
private final class SampleService: HTTPTransport {
    let requests = Mutex<[String]>([])
    let posted = Mutex("")
    private let others = CurlTransport()

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        guard let path = request.path, path.hasPrefix("/api/") else {
            return try await others.send(request, body: body)
        }
        requests.withLock { $0.append("\(request.method) \(path)") }
        switch request.method {
        case .get:
            let list = """
                [{"Id":3,"Owner":"f0b2","Text":"Käse","Completed":false,"DateModified":"2017-06-01T09:30:00.1234567Z"}]
                """
            return (HTTPResponse(status: .ok), Array(list.utf8))
        case .post:
            posted.withLock { $0 = String(decoding: body ?? [], as: UTF8.self) }
            return (HTTPResponse(status: .noContent), [])
        case .delete: return (HTTPResponse(status: .noContent), [])
        default:
            let said = #"{"Message":"The requested resource does not support http method 'PUT'."}"#
            return (HTTPResponse(status: .methodNotAllowed), Array(said.utf8))
        }
    }
}
