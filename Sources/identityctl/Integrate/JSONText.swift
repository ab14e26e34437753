// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A person's JSON file, to which single members are added, and from which they are removed. All other bytes stay as they are,
/// also comments and commas at the end of a list, which many programs accept in their files.
struct JSONText: Hashable, Sendable {
    private struct Member {
        let name: String
        /// The place where the name begins.
        let start: Int
        let value: Range<Int>
    }

    /// A file that this type has made, without the members.
    private static let empty = Array("{\n  \n}\n".utf8)

    /// The file's bytes; none if there is nothing in it.
    private(set) var bytes: [UInt8]
    /// The same bytes, with blanks in place of comments and of commas at the end of a list.
    private var plain: [UInt8]

    /// - Throws: `UsageError` if the file is no JSON object, apart from comments and commas at the end of a list.
    init(_ file: ConfigFile) throws {
        bytes = file.bytes ?? []
        if bytes.allSatisfy(Self.isBlank) { bytes = Self.empty }
        plain = Self.withoutComments(bytes)
        // A file may be large, and have half a surrogate pair where a program cut a text: it is looked through, and not parsed.
        let names = opening(at: []).map { members(after: $0).map(\.name) } ?? []
        guard JSONScan.isObject(plain), String(validating: plain, as: UTF8.self) != nil, Set(names).count == names.count
        else { throw Self.invalid(file, plain) }
    }

    static func invalid(_ file: ConfigFile, _ text: [UInt8], _ more: String = "") -> UsageError {
        let line = JSONScan.lineOfMistake(in: text).map { ":\($0)" } ?? ""
        return UsageError("\(file.path.printable)\(line): this is not valid JSON\(more). Nothing was changed.")
    }

    /// Whether the object at the end of a path has a member.
    func has(_ name: String, at path: [String] = []) -> Bool {
        opening(at: path[...]).map { members(after: $0).contains { $0.name == name } } ?? false
    }

    /// The names of the members of the object at the end of a path.
    func names(at path: [String]) -> [String] { opening(at: path[...]).map { members(after: $0).map(\.name) } ?? [] }

    /// Returns the object at the end of a path of members; `nil` if a member is missing, or no object that can be read.
    func object(at path: [String]) -> JSONObject? {
        guard let open = opening(at: path[...]) else { return nil }
        return try? JSONObject(parsing: Array(plain[open..<end(of: open)]), maximumDepth: 100)
    }

    /// Adds a member as the first one of the object at the end of a path, which is made if need be. No member on the path may be
    /// anything but an object, and the object must not have the member.
    mutating func add(_ name: String, _ value: JSONValue, at path: [String]) {
        if bytes.isEmpty {
            bytes = Self.empty
            update()
        }
        var depth = path.count
        while depth > 0, opening(at: path.prefix(depth)) == nil { depth -= 1 }
        guard let open = opening(at: path.prefix(depth)) else { return }
        var text = "\(JSONValue.string(name).jsonText): \(value.jsonText)"
        for container in path[depth...].reversed() { text = "\(JSONValue.string(container).jsonText): {\(text)}" }
        if let next = members(after: open).first {
            let blanks = bytes[..<next.start].reversed().prefix(while: Self.isBlank).reversed()
            let gap = blanks.isEmpty ? " " : String(decoding: blanks, as: UTF8.self)
            bytes.insert(contentsOf: "\(text),\(gap)".utf8, at: next.start)
        } else if bytes == Self.empty {
            bytes.insert(contentsOf: text.utf8, at: Self.empty.count - 3)
        } else {
            // The blank tells that the object was there before.
            bytes.insert(contentsOf: " \(text)".utf8, at: open + 1)
        }
        update()
    }

    /// Replaces the value of a member of the object at the end of a path.
    mutating func replace(_ name: String, with value: JSONObject, at path: [String]) {
        guard let open = opening(at: path[...]), let member = members(after: open).first(where: { $0.name == name })
        else { return }
        bytes.replaceSubrange(member.value, with: JSONValue.object(value).jsonText.utf8)
        update()
    }

    /// Removes a member, and the objects on the path that ``add(_:_:at:)`` made for it.
    mutating func remove(_ name: String, at path: [String]) {
        guard let open = opening(at: path[...]) else { return }
        let all = members(after: open)
        guard let index = all.firstIndex(where: { $0.name == name }) else { return }
        let (start, end) = (all[index].start, all[index].value.upperBound)
        if all.count == 1 {
            let blanks = start - open - 1
            if blanks == 0, let container = path.last { return remove(container, at: path.dropLast()) }
            bytes.removeSubrange((blanks == 1 ? start - 1 : start)..<end)
        } else if index + 1 < all.count {
            removeWithComma(start..<end, in: end..<all[index + 1].start)
        } else {
            removeWithComma(start..<end, in: all[index - 1].value.upperBound..<start)
        }
        update()
        if bytes == Self.empty { bytes = [] }
    }

    /// Removes a member and what is between it and its neighbour; of a comment there, nothing.
    private mutating func removeWithComma(_ member: Range<Int>, in between: Range<Int>) {
        let comma = UInt8(ascii: ",")
        if bytes[between].allSatisfy({ Self.isBlank($0) || $0 == comma }) {
            bytes.removeSubrange(
                min(member.lowerBound, between.lowerBound)..<max(member.upperBound, between.upperBound)
            )
        } else if let place = plain[between].firstIndex(of: comma) {
            // The later one first, so that the places stay.
            for range in [member, place..<(place + 1)].sorted(by: { $0.lowerBound > $1.lowerBound }) {
                bytes.removeSubrange(range)
            }
        }
    }

    private mutating func update() {
        plain = Self.withoutComments(bytes)
    }

    // MARK: - Places, in text that was parsed before

    /// Returns the place of the opening brace of the object at the end of a path.
    private func opening(at path: ArraySlice<String>) -> Int? {
        let brace = UInt8(ascii: "{")
        var open = plain.firstIndex(of: brace)
        for name in path {
            open = open.flatMap { members(after: $0).first { $0.name == name }?.value.lowerBound }
                .flatMap { plain[$0] == brace ? $0 : nil }
        }
        return open
    }

    private func members(after open: Int) -> [Member] {
        var found: [Member] = []
        var position = open + 1
        while let start = plain[position...].firstIndex(where: { !Self.isBlank($0) && $0 != UInt8(ascii: ",") }),
            plain[start] == UInt8(ascii: "\"")
        {
            let colon = end(of: start)
            let name = try? JSONObject(parsing: Array("{".utf8) + plain[start..<colon] + Array(":0}".utf8)).members
                .first
            let value = plain[colon...].firstIndex { !Self.isBlank($0) && $0 != UInt8(ascii: ":") } ?? plain.endIndex
            position = end(of: value)
            found.append(Member(name: name?.name ?? "", start: start, value: value..<position))
        }
        return found
    }

    /// Returns the end of the value that begins at a place.
    private func end(of start: Int) -> Int {
        var (position, depth) = (start, 0)
        while position < plain.count {
            switch plain[position] {
            case UInt8(ascii: "\""):
                position = Self.endOfString(plain, from: position)
                if depth == 0 { return position }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth <= 1 { return depth == 1 ? position + 1 : position }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return position
            case let byte where depth == 0 && Self.isBlank(byte): return position
            default: break
            }
            position += 1
        }
        return position
    }

    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        let blank = UInt8(ascii: " ")
        var (plain, position) = (bytes, 0)
        // The last comma that only blanks and comments follow, and the last byte before all these.
        var (comma, last): (Int?, UInt8) = (nil, UInt8(ascii: "{"))
        while position < bytes.count {
            let rest = bytes[position...]
            var end = position + 1
            if bytes[position] == UInt8(ascii: "\"") {
                (end, comma, last) = (endOfString(bytes, from: position), nil, bytes[position])
            } else if rest.starts(with: "//".utf8) {
                end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
                for index in position..<end { plain[index] = blank }
            } else if rest.starts(with: "/*".utf8) {
                end = bytes[(position + 2)...].firstRange(of: "*/".utf8)?.upperBound ?? position + 1
                if end > position + 1 { for index in position..<end { plain[index] = blank } }
            } else if bytes[position] == UInt8(ascii: ",") {
                comma = "{[,".utf8.contains(last) ? nil : position
                last = bytes[position]
            } else if !isBlank(bytes[position]) {
                if let comma, "}]".utf8.contains(bytes[position]) { plain[comma] = blank }
                (comma, last) = (nil, bytes[position])
            }
            position = end
        }
        return plain
    }
}
