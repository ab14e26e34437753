// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
public import IdentityClient
import IdentityResources

/// The API for one person's tasks, as in Microsoft's sample: `GET`, `POST` and `DELETE` at `api/tasks`.
public struct TodoService: Sendable {
    private let client: AuthenticatedClient
    private let root: URL
    private let contentType: TodoSettings.ContentType

    /// The account that owns the tasks.
    public var account: Account { client.account }

    /// Creates a service. Sends no request yet.
    public init(session: TodoSession, account: Account) {
        client = AuthenticatedClient(
            application: session.application,
            account: account,
            scopes: session.settings.scopes
        )
        root = session.settings.taskAPI.appending(path: "api/tasks")
        contentType = session.settings.contentType
    }

    /// Returns the person's tasks, oldest first.
    ///
    /// - Throws: ``TodoServiceError`` if the API refuses; the errors of `AuthenticatedClient.send`.
    public func tasks() async throws -> [TodoTask] {
        let body = try await send(.get, root)
        do {
            return try JSONDecoder().decode([TodoTask].self, from: body)
        } catch {
            throw TodoServiceError(status: 200, words: "The answer is not what this program expects.")
        }
    }

    /// Adds a task. The API confirms only that it did.
    ///
    /// - Throws: The errors of ``tasks()``.
    public func add(_ text: String) async throws {
        let body: RequestBody =
            switch contentType {
            case .json: try .json(Array(JSONEncoder().encode(["Text": text])))
            case .form: .form(["Text": text])
            }
        _ = try await send(.post, root, body)
    }

    /// Marks a task as done or not done, with `PUT`, and returns the changed task.
    ///
    /// - Throws: The errors of ``tasks()``. The sample's own API has no such request, and the error says so.
    public func setDone(_ isDone: Bool, _ task: TodoTask) async throws -> TodoTask {
        var task = task
        task.isDone = isDone
        do {
            _ = try await send(.put, address(of: task), .json(Array(JSONEncoder().encode(task))))
        } catch let error as TodoServiceError where error.status == 405 {
            throw TodoServiceError(status: 405, words: "Tasks cannot be marked as done. Remove the task instead.")
        }
        return task
    }

    /// Removes a task for good.
    ///
    /// - Throws: The errors of ``tasks()``.
    public func remove(_ task: TodoTask) async throws {
        _ = try await send(.delete, address(of: task))
    }

    /// Adds a removed task again, at the end of the list.
    ///
    /// - Throws: The errors of ``tasks()``.
    public func restore(_ task: TodoTask) async throws {
        try await add(task.text)
        guard task.isDone, let new = try await tasks().last(where: { $0.text == task.text }) else { return }
        _ = try await setDone(true, new)
    }

    private func address(of task: TodoTask) -> URL { root.appending(path: String(task.id)) }

    private func send(_ method: HTTPRequest.Method, _ url: URL, _ body: RequestBody? = nil) async throws -> Data {
        let request = AuthenticatedClient.request(method, to: url, headerFields: [.accept: "application/json"])
        let (response, bytes) = try await client.send(request, body: body)
        guard (200..<300).contains(response.status.code) else {
            throw TodoServiceError(response, bytes)
        }
        return Data(bytes)
    }
}

/// A refusal by the API.
public struct TodoServiceError: Error, Hashable, CustomStringConvertible {
    /// The HTTP status of the answer.
    public let status: Int

    /// The time that the API asked to wait.
    public let retryAfter: Duration?

    private let words: String

    init(status: Int, words: String) {
        self.status = status
        self.words = words
        retryAfter = nil
    }

    init(_ response: HTTPResponse, _ body: [UInt8]) {
        status = response.status.code
        retryAfter = response.headerFields[.retryAfter].flatMap { Int($0) }.map { .seconds($0) }
        // Only plain texts in the answer are shown, because an answer may be anything, and long.
        let said = try? JSONDecoder().decode([String: String].self, from: Data(body))
        words = said?["Message"] ?? "The service said no."
    }

    /// The API's message, and the status for support.
    public var description: String { "\(words.prefix(300)) [HTTP \(status)]" }
}
