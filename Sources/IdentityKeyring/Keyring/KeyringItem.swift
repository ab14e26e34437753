// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The form of a record as an item of the keyring.
struct KeyringItem: Equatable {
    /// The version of this form.
    static let version = 1
    /// The schema that distinguishes our items from other programs' items.
    static let schema = "SwiftIdentityClient.Record"

    let kind: String
    let name: String
    let bytes: [UInt8]

    init(_ record: CacheRecord, for key: CacheKey) {
        kind = key.kind.rawValue
        name = key.name
        bytes = record.bytes
    }

    /// Reads the form that ``secret`` writes, or returns `nil` for anything else.
    init?(secret: [UInt8]) {
        guard let end = secret.prefix(400).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = String(decoding: secret[..<end], as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, words[0] == "swift-identity-client", words[1] == "\(Self.version)" else { return nil }
        kind = String(words[2])
        name = String(words[3])
        bytes = Array(secret[(end + 1)...])
    }

    /// The item's secret: a line with the kind and the name, so that no secret of ours is empty, and then the record.
    var secret: [UInt8] {
        Array("swift-identity-client \(Self.version) \(kind) \(name)\n".utf8) + bytes
    }

    /// Whether the item has the kind and the name of `key`.
    func belongs(to key: CacheKey) -> Bool {
        kind == key.kind.rawValue && name == key.name
    }

    /// Returns the content type that the keyring stores with the secret. Some keyrings store only text.
    static func contentType(of secret: [UInt8]) -> String {
        String(validating: secret, as: UTF8.self) != nil && !secret.contains(0)
            ? "text/plain" : "application/octet-stream"
    }
}

/// The attributes by which items are found. Keyrings keep them in clear text, so they do not identify a person or tenant.
///
/// Every item has all attributes of ``record(_:)``, because a new item replaces every item whose attributes include its own.
enum KeyringAttributes {
    /// The attributes of one record.
    static func record(_ key: CacheKey) -> [(String, String)] {
        kind(key.kind, in: key.group) + [("name", key.name)]
    }

    /// The common attributes of all records of a kind.
    static func kind(_ kind: CacheKey.Kind, in group: CacheGroup) -> [(String, String)] {
        self.group(group) + [("kind", kind.rawValue)]
    }

    /// The common attributes of all records of a group.
    static func group(_ group: CacheGroup) -> [(String, String)] {
        [
            ("xdg:schema", KeyringItem.schema), ("version", "\(KeyringItem.version)"),
            ("group", Digest.hexadecimal(of: ["keyring-group", group.name])),
        ]
    }
}
