// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
public import IdentityClient

/// The API with one person's tasks.
public struct TodoService: Sendable {
    private let client: AuthenticatedClient
    private let root: URL
    private let contentType: TodoSettings.ContentType

    /// Whose tasks they are.
    public var account: Account { client.account }

    /// Nothing is sent yet.
    public init(session: TodoSession, account: Account) {
        client = AuthenticatedClient(
            application: session.application,
            account: account,
            scopes: session.settings.scopes
        )
        root = session.settings.taskAPI.appending(path: "tasks")
        contentType = session.settings.contentType
    }

    /// The person's tasks, the oldest first.
    ///
    /// - Throws: ``TodoServiceError`` when the API says no; as `AuthenticatedClient.send`.
    public func tasks() async throws -> [TodoTask] {
        try await send(.get, root)
    }

    /// Adds a task.
    ///
    /// - Throws: As ``tasks()``.
    public func add(_ text: String) async throws -> TodoTask {
        let bytes: [UInt8]
        switch contentType {
        case .json: bytes = try Array(JSONEncoder().encode(["text": text]))
        case .form:
            let unreserved = CharacterSet(
                charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
            )
            bytes = Array("text=\(text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")".utf8)
        }
        return try await send(.post, root, .bytes(bytes, contentType: contentType.rawValue))
    }

    /// Marks a task as done, or as not done after all.
    ///
    /// - Throws: As ``tasks()``.
    public func setDone(_ isDone: Bool, _ task: TodoTask) async throws -> TodoTask {
        let body = try JSONEncoder().encode(["isDone": isDone])
        return try await send(.patch, root.appending(path: task.id), .json(Array(body)))
    }

    private func send<Value: Decodable>(
        _ method: HTTPRequest.Method,
        _ url: URL,
        _ body: RequestBody? = nil
    ) async throws -> Value {
        let request = HTTPRequest(method, to: url, headerFields: [.accept: "application/json"])
        let (response, bytes) = try await client.send(request, body: body)
        guard (200..<300).contains(response.status.code) else {
            throw TodoServiceError(response, bytes)
        }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            throw TodoServiceError(status: response.status.code, words: "The answer is not what this program expects.")
        }
    }
}

/// The API said no.
public struct TodoServiceError: Error, Hashable, CustomStringConvertible {
    /// The answer's status.
    public let status: Int

    /// How long the API asked to wait.
    public let retryAfter: Duration?

    private let words: String

    init(status: Int, words: String) {
        self.status = status
        self.words = words
        retryAfter = nil
    }

    init(_ response: HTTPResponse, _ body: [UInt8]) {
        struct Words: Decodable {
            struct Error: Decodable {
                var message: String
            }
            var error: Error
        }
        status = response.status.code
        retryAfter = response.headerFields[.retryAfter].flatMap { Int($0) }.map { .seconds($0) }
        // Only what is said in so many words is shown: an answer may be anything, and long.
        words = (try? JSONDecoder().decode(Words.self, from: Data(body)))?.error.message ?? "The service said no."
    }

    /// What the API said, and the status for support.
    public var description: String { "\(words.prefix(300)) [HTTP \(status)]" }
}
