// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import IdentityClient
import IdentityTesting
import Synchronization

/// A task, with the members of Microsoft's sample of a to-do service.
struct TaskItem: Encodable, Hashable, Sendable {
    var id: Int
    var owner: String
    var text: String
    var isCompleted = false
    var modified = Date.now

    private enum CodingKeys: String, CodingKey {
        case id = "Id"
        case owner = "Owner"
        case text = "Text"
        case isCompleted = "Completed"
        case modified = "DateModified"
    }
}

/// `/api/tasks`, as in Microsoft's sample: a list for each person, identified by the token alone. In addition, a
/// request can change whether a task is done, which the sample's service does not offer.
final class TaskService: Sendable {
    private static let maximumLength = 500

    private let gate: TokenGate
    private let tasks = Mutex<[TaskItem]>([])
    private let lastID = Atomic(-1)

    init(gate: TokenGate) {
        self.gate = gate
    }

    func answer(_ request: HTTPRequest, _ path: [String]) async throws -> HTTPResponse {
        do {
            return try await answer(request, at: path)
        } catch let refusal as HTTPRefusal {
            return try refusal.response(["Message": refusal.message])
        }
    }

    private func answer(_ request: HTTPRequest, at path: [String]) async throws -> HTTPResponse {
        let known = try await gate.admit(request)
        let person = known.person.objectID
        guard path.first == "tasks", path.count <= 2 else { throw Self.nothing }
        let id = path.dropFirst().first.map { Int($0) ?? -1 }
        switch (request.method, id) {
        case (.GET, nil):
            try require("tasks.read", known)
            return try .json(tasks.withLock { $0.filter { $0.owner == person } })
        case (.POST, nil):
            try require("tasks.write", known)
            let text = try await text(of: request)
            tasks.withLock { tasks in
                let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
                tasks.append(TaskItem(id: id, owner: person, text: text))
            }
        case (.PUT, let id?):
            try require("tasks.write", known)
            let change = try request.decode(Change.self, from: await request.bodyData)
            try tasks.withLock { tasks in
                guard let index = tasks.firstIndex(where: { $0.id == id && $0.owner == person }) else {
                    throw HTTPRefusal(.notFound, "ResourceNotFound", "There is no such task.")
                }
                tasks[index].isCompleted = change.isCompleted
                tasks[index].modified = .now
            }
        case (.DELETE, let id?):
            try require("tasks.write", known)
            tasks.withLock { $0.removeAll { $0.id == id && $0.owner == person } }
        default: throw Self.nothing
        }
        return HTTPResponse(statusCode: .noContent)
    }

    private static var nothing: HTTPRefusal {
        HTTPRefusal(.notFound, "ResourceNotFound", "There is nothing here.")
    }

    private struct Change: Decodable {
        var isCompleted: Bool

        private enum CodingKeys: String, CodingKey {
            case isCompleted = "Completed"
        }
    }

    private struct NewTask: Decodable {
        var text: String

        private enum CodingKeys: String, CodingKey {
            case text = "Text"
        }
    }

    /// Returns the new task's text, from JSON or from a form like the first program of this kind sent.
    private func text(of request: HTTPRequest) async throws -> String {
        let body = try await request.bodyData
        let type = request.headers[.contentType]?.lowercased() ?? ""
        let text: String
        if type.hasPrefix("application/x-www-form-urlencoded") {
            let form = String(decoding: body, as: UTF8.self).replacing("+", with: "%20")
            let item = form.split(separator: "&").first { $0.hasPrefix("Text=") }
            text = item.flatMap { $0.dropFirst("Text=".count).removingPercentEncoding } ?? ""
        } else {
            text = try request.decode(NewTask.self, from: body).text
        }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.count <= Self.maximumLength else {
            throw HTTPRefusal(.badRequest, "BadRequest", "A task has 1 to \(Self.maximumLength) characters.")
        }
        return trimmed
    }

    /// Requires a scope. The list is the program's own API, so B2C's scope for it, the client id, permits everything.
    private func require(_ scope: String, _ known: TestIdentityProvider.Introspection) throws {
        let granted = known.scopes.map(\.rawValue)
        guard granted.contains(known.clientID.rawValue) || granted.contains(Providers.tasksScope + scope) else {
            throw HTTPRefusal(
                .forbidden,
                "AccessDenied",
                "The token does not permit this.",
                headers: [HTTPHeader("WWW-Authenticate"): #"Bearer error="insufficient_scope""#]
            )
        }
    }
}
