// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// How a record is kept as an item of the keyring.
struct KeyringItem: Equatable {
    /// The version of this form.
    static let version = 1
    /// The schema that tells our items from other programs'.
    static let schema = "SwiftIdentityClient.Record"
    /// The bytes that an item may have: those of the largest record, and its first line.
    static let sizeLimit = (1 << 20) + 512

    let kind: String
    let name: String
    let bytes: [UInt8]

    init(_ record: CacheRecord, for key: CacheKey) {
        kind = key.kind.rawValue
        name = key.name
        bytes = record.bytes
    }

    /// Reads what ``secret`` has written; `nil` when it is something else.
    init?(secret: [UInt8]) {
        guard let end = secret.prefix(400).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = String(decoding: secret[..<end], as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, words[0] == "swift-identity-client", words[1] == "\(Self.version)" else { return nil }
        kind = String(words[2])
        name = String(words[3])
        bytes = Array(secret[(end + 1)...])
    }

    /// The item's secret: a line that says what it is, so that no secret of ours is empty, and the record.
    var secret: [UInt8] {
        Array("swift-identity-client \(Self.version) \(kind) \(name)\n".utf8) + bytes
    }

    /// Whether this is what is to lie under `key`.
    func belongs(to key: CacheKey) -> Bool {
        kind == key.kind.rawValue && name == key.name
    }

    /// The content type that the keyring stores with the secret. Some keyrings keep text only.
    static func contentType(of secret: [UInt8]) -> String {
        String(validating: secret, as: UTF8.self) != nil && !secret.contains(0)
            ? "text/plain" : "application/octet-stream"
    }
}

/// The attributes by which items are found. They are kept in clear text: nothing in them tells of a person or tenant.
///
/// Every item has all of them. The keyring takes an item whose attributes include those of a new one for the same.
enum KeyringAttributes {
    /// Those of one record.
    static func record(_ key: CacheKey) -> [(String, String)] {
        kind(key.kind, in: key.group) + [("name", key.name)]
    }

    /// Those that all records of a kind have in common.
    static func kind(_ kind: CacheKey.Kind, in group: CacheGroup) -> [(String, String)] {
        self.group(group) + [("kind", kind.rawValue)]
    }

    /// Those that all records of a group have in common.
    static func group(_ group: CacheGroup) -> [(String, String)] {
        [
            ("xdg:schema", KeyringItem.schema), ("version", "\(KeyringItem.version)"),
            ("group", Digest.hexadecimal(of: ["keyring-group", group.name])),
        ]
    }
}
