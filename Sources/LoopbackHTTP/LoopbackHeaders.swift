// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The header fields of a request or an answer, in order, duplicates included.
package struct LoopbackHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// One line.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Every value under `name`, whatever its case.
    package func values(of name: String) -> [String] {
        fields.filter { Self.same($0.name, name) }.map(\.value)
    }

    /// The first value under `name`, whatever its case; setting replaces all of them.
    package subscript(name: String) -> String? {
        get { fields.first { Self.same($0.name, name) }?.value }
        set {
            fields.removeAll { Self.same($0.name, name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Adds a line, and keeps others of the same name.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    private static func same(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lowered($0) == lowered($1) }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
