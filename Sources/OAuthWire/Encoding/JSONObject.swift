// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A JSON object that keeps all members, also unknown ones, in their order.
///
/// Two objects are equal when they have the same members in the same order.
package struct JSONObject: Hashable, Sendable {
    private struct Member: Hashable, Sendable {
        var name: String
        var value: JSONValue
    }

    private var storage: [Member] = []

    /// Creates an object without members.
    package init() {}

    /// Creates an object with `members`; of several with the same name, the last wins.
    package init(_ members: [(name: String, value: JSONValue)]) {
        for member in members { self[member.name] = member.value }
    }

    /// The members in order.
    package var members: [(name: String, value: JSONValue)] {
        storage.map { (name: $0.name, value: $0.value) }
    }

    /// Whether there are no members.
    package var isEmpty: Bool { storage.isEmpty }

    /// The value of the member `name`.
    ///
    /// Setting it keeps the member's place, or appends it; setting `nil` removes the member.
    package subscript(name: String) -> JSONValue? {
        get { storage.first { $0.name == name }?.value }
        set {
            let index = storage.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): storage[index].value = value
            case (let index?, nil): storage.remove(at: index)
            case (nil, let value?): storage.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Appends a member; its name must be new.
    mutating func append(_ name: String, _ value: JSONValue) {
        storage.append(Member(name: name, value: value))
    }
}

extension JSONObject {
    /// The text of the string member `name`; `nil` when it is absent or something else.
    package func string(_ name: String) -> String? { self[name]?.string }

    /// The whole number in the member `name`, written as a number or as a string of digits.
    package func integer(_ name: String) -> Int? { self[name]?.integer }

    /// The number in the member `name`, rounded down.
    package func roundedDown(_ name: String) -> Int64? { self[name]?.roundedDown }

    /// The object in the member `name`.
    package func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// The array in the member `name`.
    package func array(_ name: String) -> [JSONValue]? {
        if case .array(let values)? = self[name] { values } else { nil }
    }

    /// The array of strings in the member `name`; `nil` when any element is something else.
    package func strings(_ name: String) -> [String]? {
        guard let values = array(name) else { return nil }
        let strings = values.compactMap(\.string)
        return strings.count == values.count ? strings : nil
    }

    /// The `true` or `false` in the member `name`.
    package func bool(_ name: String) -> Bool? {
        if case .bool(let flag)? = self[name] { flag } else { nil }
    }
}
