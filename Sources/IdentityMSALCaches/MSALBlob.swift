// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The content of a cache in the unified schema that all MSALs share: sections of entities. Every member stays as it is
/// and where it is, unless it is changed here.
///
/// Keys differ between the libraries and say nothing here: entities are found by their fields.
struct MSALBlob: Hashable, Sendable {
    /// A section that several libraries read.
    enum Section: String {
        case account = "Account"
        case idToken = "IdToken"
        case refreshToken = "RefreshToken"
        case accessToken = "AccessToken"
        /// Ours alone, for tokens that are bound to a key or were requested with the program's own parameters: other programs hand
        /// out any token of the section of access tokens to any caller.
        case boundAccessToken = "BoundAccessToken"
        case appMetadata = "AppMetadata"
    }

    /// One entity and the key under which it was found.
    struct Entity: Hashable, Sendable {
        let key: String
        let json: JSONObject
    }

    /// The largest content that is read or written. Caches with hundreds of accounts stay far below it.
    static let sizeLimit = 16 << 20

    private(set) var root: JSONObject

    /// Creates the content of a cache that does not exist yet.
    init() {
        root = JSONObject()
    }

    /// Reads the content of a file or a keyring item. Empty content is a cache without entities.
    ///
    /// - Throws: `JSONError` for what is not one JSON object in UTF-8, or has a name twice.
    init(parsing bytes: [UInt8]) throws(JSONError) {
        root = bytes.isEmpty ? JSONObject() : try JSONObject(parsing: bytes, maximumDepth: 64)
    }

    func serialized() -> [UInt8] { root.serialized() }

    /// Returns the section's entities in order. A member that is no object is no entity, and stays.
    func entities(_ section: Section) -> [Entity] {
        (root.object(section.rawValue)?.members ?? []).compactMap { member in
            if case .object(let json) = member.value { Entity(key: member.name, json: json) } else { nil }
        }
    }

    func entity(_ section: Section, _ key: String) -> JSONObject? {
        root.object(section.rawValue)?.object(key)
    }

    /// Stores an entity under its key, in its place or at the end.
    mutating func set(_ section: Section, _ key: String, _ json: JSONObject) {
        setMember(key, .object(json), of: section.rawValue)
    }

    mutating func remove(_ section: Section, _ keys: some Sequence<String>) {
        for key in keys { setMember(key, nil, of: section.rawValue) }
    }

    /// The members that belong to this library alone: one for each account that says more than the schema.
    func note(_ name: String) -> JSONObject? { root.object(Self.notes)?.object(name) }

    var noteNames: [String] { (root.object(Self.notes)?.members ?? []).map(\.name) }

    mutating func setNote(_ name: String, _ json: JSONObject?) {
        setMember(name, json.map { .object($0) }, of: Self.notes)
        if root.object(Self.notes)?.isEmpty == true { root[Self.notes] = nil }
    }

    private static let notes = "swift-identity-client"

    private mutating func setMember(_ name: String, _ value: JSONValue?, of section: String) {
        if value == nil, root[section] == nil { return }
        var json = root.object(section) ?? JSONObject()
        json[name] = value
        root[section] = .object(json)
    }

    /// Throws if a section is something else than a section: then nothing may be written, because it would be lost.
    func checkMayBeWritten() throws {
        let known: [Section] = [.account, .idToken, .refreshToken, .accessToken, .boundAccessToken, .appMetadata]
        for name in known.map(\.rawValue) + [Self.notes] where root[name] != nil && root.object(name) == nil {
            throw AuthenticationError(
                .cache,
                "The member '\(name)' of the shared token cache is no JSON object, so that nothing is written there."
            )
        }
    }
}

extension JSONObject {
    /// The text of a member that is a string and not empty.
    func text(_ name: String) -> String? {
        string(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a member is the same text byte for byte, except for the case of ASCII letters: so identifiers and hosts compare
    /// in these caches.
    func has(_ name: String, _ text: String) -> Bool {
        string(name)?.utf8.elementsEqual(text.utf8) { $0.folded == $1.folded } ?? false
    }
}

extension UInt8 {
    /// An ASCII letter in lower case; any other byte as it is.
    var folded: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

extension String {
    /// The text with its ASCII letters in lower case.
    var folded: String { String(decoding: utf8.map(\.folded), as: UTF8.self) }
}
