// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One thing to do, as the API of Microsoft's sample writes it.
public struct TodoTask: Codable, Hashable, Identifiable, Sendable {
    /// The API's identifier.
    public let id: Int
    /// What is to be done.
    public var text: String
    /// Whether it is.
    public var isDone: Bool

    private enum CodingKeys: String, CodingKey {
        case id = "Id"
        case text = "Text"
        case isDone = "Completed"
    }

    /// Creates a task; the API gives it its identifier.
    public init(id: Int, text: String, isDone: Bool) {
        self.id = id
        self.text = text
        self.isDone = isDone
    }
}
