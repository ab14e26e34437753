// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import IdentityClient
import IdentityTesting
import Synchronization

/// One thing to do.
struct TaskItem: Codable, Hashable, Sendable {
    var id: String
    var text: String
    var isDone: Bool
}

/// `/tasks`: a list for each person, who is told by the token alone.
final class TaskService: Sendable {
    private static let maximumLength = 500

    private let gate: TokenGate
    private let lists = Mutex<[String: [TaskItem]]>([:])

    init(gate: TokenGate) {
        self.gate = gate
    }

    func answer(_ request: HTTPRequest, _ path: [String]) async throws -> HTTPResponse {
        let known = try await gate.admit(request)
        let person = known.person.objectID
        switch (request.method, path.count) {
        case (.GET, 0):
            try require("tasks.read", known)
            return try .json(lists.withLock { $0[person] ?? [] })
        case (.POST, 0):
            try require("tasks.write", known)
            let task = TaskItem(id: UUID().uuidString.lowercased(), text: try await text(of: request), isDone: false)
            lists.withLock { $0[person, default: []].append(task) }
            return try .json(task, status: .created)
        case (.PATCH, 1):
            try require("tasks.write", known)
            let change = try request.decode(Change.self, from: await request.bodyData)
            let task = lists.withLock { lists -> TaskItem? in
                guard let index = lists[person]?.firstIndex(where: { $0.id == path[0] }) else { return nil }
                lists[person]?[index].isDone = change.isDone
                return lists[person]?[index]
            }
            guard let task else { throw HTTPRefusal(.notFound, "ResourceNotFound", "There is no such task.") }
            return try .json(task)
        default:
            throw HTTPRefusal(.notFound, "ResourceNotFound", "There is nothing here.")
        }
    }

    private struct Change: Decodable {
        var isDone: Bool
    }

    private struct NewTask: Decodable {
        var text: String
    }

    /// The new task's text: JSON, or a form as the first program of this kind sent it.
    private func text(of request: HTTPRequest) async throws -> String {
        let body = try await request.bodyData
        let type = request.headers[.contentType]?.lowercased() ?? ""
        let text: String
        if type.hasPrefix("application/x-www-form-urlencoded") {
            let form = String(decoding: body, as: UTF8.self).replacing("+", with: "%20")
            let item = form.split(separator: "&").first { $0.hasPrefix("text=") }
            text = item.flatMap { $0.dropFirst("text=".count).removingPercentEncoding } ?? ""
        } else {
            text = try request.decode(NewTask.self, from: body).text
        }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.count <= Self.maximumLength else {
            throw HTTPRefusal(.badRequest, "BadRequest", "A task has 1 to \(Self.maximumLength) characters.")
        }
        return trimmed
    }

    /// The list is the program's own API, so that B2C's scope for that, the client id, is good for everything.
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
