// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire

/// The name of a profile: a file's name without its ending.
struct ProfileName: Hashable, Sendable, CustomStringConvertible {
    /// The name that stands for no profile.
    static let none = "none"

    let text: String

    var description: String { text }

    /// The name in place of that of a profile, for a resource without one. No profile can have it.
    static let ofResource = ProfileName(unchecked: "resource of its own")

    private init(unchecked text: String) { self.text = text }

    /// - Throws: `UsageError` for a name that is not letters, digits, `.`, `_` and `-`, at most 64 of them, the first a
    ///   letter or digit.
    init(_ given: Given) throws {
        guard let name = ProfileName(given.text) else {
            throw given.error(
                "'\(given.text.printable)' is no name of a profile: letters, digits, '.', '_' and '-', at most 64, the first a "
                    + "letter or digit; not 'none'."
            )
        }
        self = name
    }

    /// - Returns: `nil` for any other text.
    init?(_ text: String) {
        guard text.utf8.areAlphanumeric(or: "._-"), text.utf8.count <= 64, text.utf8.first?.isAlphanumeric == true,
            text != Self.none
        else { return nil }
        self.text = text
    }
}

/// Options under a name: a file with a line `name = value` for each.
struct Profile: Sendable {
    struct Line: Hashable, Sendable {
        let number: Int
        let name: String
        let value: String
    }

    /// The names that a line may begin with.
    static let names = Set(Setting.all.lazy.filter(\.isLine).map(\.name))

    /// The names that may stand in several lines.
    static let lists = Set(Setting.all.lazy.filter(\.kind.mayRepeat).map(\.name))

    private static let possiblyEmpty = Set(Setting.all.lazy.filter { $0.traits.contains(.mayBeEmpty) }.map(\.name))

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private(set) var name: ProfileName
    let path: String
    private(set) var lines: [Line]
    /// The lines without those of a known resource.
    private var ownLines: [Line]
    /// The account of the first sign-in, which counts where no line names one.
    private(set) var account: ProfileAccount?
    /// Whether the account of a sign-in becomes the profile's. Not that of a resource without a profile, and not if another client,
    /// provider or resource is named in place of the profile's.
    private(set) var keepsAccount = true
    /// Whether lines of a known resource are among these: its `resource` is then to the byte what the tokens are for.
    private(set) var isOfResource = false
    /// The address to whose reach the tokens of a known resource are limited; `nil` for the resource's own.
    private(set) var place: String?
    /// Whether the known resource and its issuer were named together, in one place of the person's or the administrator's.
    private(set) var isNamedWithIssuer = false
    /// Whether the known resource is asked by a message of MCP as well.
    private(set) var isOfMCP = false

    /// - Throws: `UsageError` that names the file and the line.
    init(_ name: ProfileName, path: String, parsing bytes: [UInt8]) throws {
        self.name = name
        self.path = path
        var lines: [Line] = []
        var number = 0
        // Editors of Windows put a byte order mark before the first line.
        let text = bytes.starts(with: Self.byteOrderMark) ? bytes.dropFirst(Self.byteOrderMark.count) : bytes[...]
        for row in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if let line = try Self.line(row, number, path) { lines.append(line) }
        }
        var seen: Set<String> = []
        for line in lines where !Self.lists.contains(line.name) && !seen.insert(line.name).inserted {
            throw Self.error("'\(line.name)' stands in an earlier line too. Remove one of them.", line.number, path)
        }
        (self.lines, ownLines) = (lines, lines)
    }

    /// Returns a line's name and value, or `nil` for an empty line or a comment.
    private static func line(_ row: ArraySlice<UInt8>, _ number: Int, _ path: String) throws -> Line? {
        guard let text = String(validating: row, as: UTF8.self) else {
            throw error("this is not UTF-8 text.", number, path)
        }
        guard row.allSatisfy({ $0.isFieldText || $0 == UInt8(ascii: "\r") }) else {
            throw error("a control character is not possible here.", number, path)
        }
        let trimmed = trimmed(text[...])
        guard !trimmed.isEmpty, !trimmed.hasPrefix("#") else { return nil }
        guard let sign = trimmed.firstIndex(of: "=") else {
            throw error("this is not a line like 'client-id = 1234'.", number, path)
        }
        let name = String(Self.trimmed(trimmed[..<sign]))
        let value = String(Self.trimmed(trimmed[trimmed.index(after: sign)...]))
        guard names.contains(name) else {
            throw error("'\(name.printable)' is not an option that a profile can have.\(hint(at: name))", number, path)
        }
        guard !value.isEmpty || possiblyEmpty.contains(name) else {
            throw error("the value of '\(name)' is empty.", number, path)
        }
        return Line(number: number, name: name, value: value)
    }

    /// Returns the name that was meant, after a blank: it may be written like a variable, or mistyped.
    static func hint(at name: String) -> String {
        let plain = name.lowercased().replacing("_", with: "-")
        return names.contains(plain) ? " Write: \(plain)" : Suggestion.text(for: plain, among: names.sorted())
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.unicodeScalars
        while let first = text.first, " \t\r".unicodeScalars.contains(first) { text.removeFirst() }
        while let last = text.last, " \t\r".unicodeScalars.contains(last) { text.removeLast() }
        return Substring(text)
    }

    static func error(_ message: String, _ number: Int, _ path: String) -> UsageError {
        UsageError("\(path.printable):\(number): \(message)")
    }

    /// Returns the value of an option, with the line as its origin. The values of several lines are its words.
    func given(_ name: String) -> Given? {
        guard let first = lines.first(where: { $0.name == name }) else {
            guard name == "account", let account else { return nil }
            return Given(text: account.id, origin: "profile '\(self.name)'", account: account)
        }
        guard Self.lists.contains(name) else { return given(first) }
        let text = lines.filter { $0.name == name }.map(\.value).joined(separator: " ")
        return Given(text: text, origin: "\(path.printable):\(first.number)")
    }

    /// Returns the text of a line of the profile's own, which is none of a known resource.
    func own(_ name: String) -> String? { ownLines.first { $0.name == name }?.value }

    /// Returns the value of each line of an option.
    func each(_ name: String) -> [Given] { lines.filter { $0.name == name }.map(given) }

    private func given(_ line: Line) -> Given { Given(text: line.value, origin: "\(path.printable):\(line.number)") }

    /// Whether a line names the account.
    var namesAccount: Bool { lines.contains { $0.name == "account" } }

    /// A text that differs after each change.
    var version: String {
        (lines.map { "\($0.name)=\($0.value)" } + (account.map { ["account=\($0.id)"] } ?? [])).joined(separator: "\n")
    }

    /// Whether the server of its resource, or the client there, is left to the search.
    var leavesToSearch: Bool { own("issuer") == nil || own("client-id") == nil }

    /// Returns the lines of a known resource, and below them the profile's own; those alone if they name another server
    /// or client.
    func below(_ known: Profile) -> Profile {
        let issuers = own("issuer").map(ResourceSearch.spellings)
        guard issuers?.contains(known.given("issuer")?.text ?? "") ?? true,
            own("client-id").map({ $0 == known.given("client-id")?.text }) ?? true
        else { return self }
        var profile = known
        var names = Set(known.lines.map(\.name))
        // The secret is that of the profile's own client.
        if own("client-id") == nil { names.insert("client-secret") }
        profile.lines += ownLines.filter { !names.contains($0.name) }
        (profile.name, profile.ownLines) = (name, ownLines)
        (profile.account, profile.keepsAccount) = (account, keepsAccount)
        return profile
    }

    /// The lines of a known resource.
    init(ofResource bytes: [UInt8], path: String) throws {
        try self.init(.ofResource, path: path, parsing: bytes)
        (isOfResource, ownLines, keepsAccount) = (true, [], false)
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix(Self.placeMark) { place = String(line.dropFirst(Self.placeMark.count)) }
            isNamedWithIssuer = isNamedWithIssuer || line == Self.namedMark
            isOfMCP = isOfMCP || line == Self.mcpMark
        }
    }

    // Comments to versions that do not know them.
    static let placeMark = "#place = "
    static let namedMark = "#named = yes"
    static let mcpMark = "#mcp = yes"

    /// Returns the profile with the account of its first sign-in.
    func belonging(to account: ProfileAccount?) -> Profile {
        var profile = self
        profile.account = account
        return profile
    }

    /// Returns the lines for a command that names another client, provider or resource: the profile's account is none of those.
    func forAnother() -> Profile {
        var profile = belonging(to: nil)
        profile.keepsAccount = false
        return profile
    }
}

extension Profile {
    /// Whether it is a profile with a name, and not what is known of a resource alone.
    var isNamed: Bool { name != .ofResource }
}
