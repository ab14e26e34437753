// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A task, in the format of the API of Microsoft's sample.
public struct TodoTask: Codable, Hashable, Identifiable, Sendable {
    /// The API's identifier.
    public let id: Int
    /// The task in words.
    public var text: String
    /// Whether the task is done.
    public var isDone: Bool

    private enum CodingKeys: String, CodingKey {
        case id = "Id"
        case text = "Text"
        case isDone = "Completed"
    }

    /// Creates a task; the API assigns the identifier.
    public init(id: Int, text: String, isDone: Bool) {
        self.id = id
        self.text = text
        self.isDone = isDone
    }
}
