// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One thing to do.
public struct TodoTask: Codable, Hashable, Identifiable, Sendable {
    /// The API's identifier.
    public let id: String
    /// What is to be done.
    public var text: String
    /// Whether it is.
    public var isDone: Bool

    /// Creates a task; the API gives it its identifier.
    public init(id: String, text: String, isDone: Bool) {
        self.id = id
        self.text = text
        self.isDone = isDone
    }
}
