// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A program's settings as named texts, from a JSON object or a property list like the older samples'.
public struct SettingsFile: Sendable, Equatable {
    /// The path of the file, for messages.
    public let path: String
    private let values: [String: String]

    /// Reads a file of at most 64 KiB.
    ///
    /// - Throws: ``ValidationFailure`` if the file cannot be read, or is neither JSON nor a property list.
    public init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: 64 << 10) else {
            throw ValidationFailure("The settings file \(path) cannot be read.")
        }
        try self.init(data, path: path)
    }

    /// Parses a file's content. Texts, numbers and Booleans are kept; all other values are ignored.
    public init(_ data: Data, path: String) throws {
        self.path = path
        let isJSON = data.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
        let found: Any? =
            isJSON
            ? try? JSONSerialization.jsonObject(with: data)
            : try? PropertyListSerialization.propertyList(from: data, format: nil)
        guard let object = found as? [String: Any] else {
            throw ValidationFailure("The settings file \(path) is neither a JSON object nor a property list.")
        }
        values = object.compactMapValues { value in
            switch value {
            case let text as String: text
            case let number as NSNumber: number.stringValue
            case let flag as Bool: flag ? "1" : "0"
            default: nil
            }
        }
    }

    /// The text under a name; `nil` if it is missing or consists of spaces only.
    public subscript(name: String) -> String? {
        let text = values[name]?.trimmingCharacters(in: .whitespacesAndNewlines)
        return text?.isEmpty == false ? text : nil
    }

    /// Returns the Boolean under a name.
    ///
    /// - Throws: ``ValidationFailure`` if the value is not a Boolean.
    public func flag(_ name: String) throws -> Bool? {
        switch self[name]?.lowercased() {
        case nil: nil
        case "true", "yes", "1": true
        case "false", "no", "0": false
        case let other?: throw ValidationFailure("\(path): \(name) is true or false, not “\(other)”.")
        }
    }
}
