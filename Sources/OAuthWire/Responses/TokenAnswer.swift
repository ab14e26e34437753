// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The body of a token endpoint's answer, read as far as it can be.
///
/// A server that grants a refresh has spent the refresh token that was sent, whatever its answer looks like. So the new
/// refresh token is looked for also in an answer that is refused.
package struct TokenAnswer: Sendable {
    /// The members, if the whole body can be read.
    package let members: JSONObject?
    /// The reason why it cannot.
    package let problem: WireError?
    /// Whether the body is an object that ends early.
    package let isCutOff: Bool
    private let body: [UInt8]

    /// Reads JSON, whose texts may have bytes that are not UTF-8, or a form.
    ///
    /// Deviation: some servers answer with a form, GitHub's among them unless they are asked for JSON, and the first
    /// versions of Facebook's.
    package init(_ body: [UInt8]) {
        self.body = body
        do {
            members = try JSONObject(received: body, repairsText: true)
            (problem, isCutOff) = (nil, false)
        } catch {
            members = Self.form(body)
            problem = members == nil ? .malformed(Self.name(of: error)) : nil
            isCutOff = error.reason == .unexpectedEnd && error.offset > 0
        }
    }

    private static func name(of error: JSONError) -> String {
        switch error.reason {
        case .notAnObject, .unexpectedByte: "answer: it is not a JSON object"
        default: "answer: \(error)"
        }
    }

    /// The members of a form with tokens or an error. A repeated name makes it unreadable.
    private static func form(_ body: [UInt8]) -> JSONObject? {
        let text = String(decoding: body, as: UTF8.self)
        guard text.utf8.areVisible, let items = try? FormURLEncoded.decode(text) else { return nil }
        let names = items.map(\.0)
        guard Set(names).count == names.count,
            names.contains(where: ["access_token", "refresh_token", "error"].contains)
        else { return nil }
        return JSONObject(items.map { ($0.0, .string($0.1)) })
    }
}

extension TokenAnswer {
    /// The response with a ``TokenResponse/fault``, if the body cannot be used but has a refresh token; `nil` if none is
    /// found in it.
    ///
    /// - Throws: `WireError.duplicate` for several refresh tokens that differ, of which none is believed.
    package func rescued() throws(WireError) -> TokenResponse? {
        guard let problem else {
            return members.flatMap { json in
                ErrorResponse(json) == nil
                    ? nil
                    : TokenResponse.secret(json).map { secret in
                        TokenResponse(
                            fault: .malformed("answer: it has tokens and an error"),
                            refreshToken: secret,
                            idToken: json.string("id_token"),
                            clientInfo: json.string("client_info")
                        )
                    }
            }
        }
        var search = TextSearch(body, for: ["refresh_token", "id_token", "client_info"])
        search.run()
        guard let secret = try search.only("refresh_token") else { return nil }
        return TokenResponse(
            fault: problem,
            refreshToken: secret,
            // Another person's answer is recognized by these. Of two, neither is believed.
            idToken: try? search.only("id_token"),
            clientInfo: try? search.only("client_info")
        )
    }
}

/// Finds the texts of some members of the outermost object, in bytes that are no proper JSON.
///
/// It follows quotes, backslashes and brackets only. So a member of an inner object, or a text that looks like a member,
/// is not taken for a member of the outermost.
private struct TextSearch {
    private let bytes: [UInt8]
    private let names: [String]
    private var position = 0
    /// The texts that were found; `nil` for a value that is no text or no proper one.
    private var found: [(name: String, text: String?)] = []

    /// The most bytes of a text that is taken.
    private static let maximumLength = 65_536

    init(_ bytes: [UInt8], for names: [String]) {
        self.bytes = bytes
        self.names = names
    }

    /// The text of the member; `nil` if there is none, or an empty one.
    func only(_ name: String) throws(WireError) -> String? {
        let texts = found.filter { $0.name == name }.map(\.text)
        guard let first = texts.first else { return nil }
        guard texts.allSatisfy({ $0.map { WireText.areSame($0, first ?? "") } ?? (first == nil) }) else {
            throw .duplicate(name)
        }
        return first.flatMap { $0.isEmpty ? nil : $0 }
    }

    mutating func run() {
        if bytes.starts(with: JSONObject.byteOrderMark) { position = JSONObject.byteOrderMark.count }
        skipSpace()
        guard byte == UInt8(ascii: "{") else { return }
        var depth = 0
        var isName = false
        while let byte {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isName = depth == 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                isName = false
                position += 1
            case UInt8(ascii: ","):
                isName = depth == 1
                position += 1
            case UInt8(ascii: "\""):
                guard let raw = takeText() else { return }
                if isName { takeMember(raw) }
                isName = false
            default:
                position += 1
            }
            // After a bracket too many, nothing is certain.
            guard depth >= 0 else { return }
        }
    }

    /// Notes the value after a name, if it is one of the wanted members and has its end.
    private mutating func takeMember(_ raw: ArraySlice<UInt8>) {
        guard let name = Self.text(raw), names.contains(where: { WireText.areSame($0, name) }) else { return }
        skipSpace()
        guard byte == UInt8(ascii: ":") else { return }
        position += 1
        skipSpace()
        switch byte {
        case nil: return
        case UInt8(ascii: "\""):
            guard let raw = takeText() else { return }
            found.append((name, raw.count > Self.maximumLength ? nil : Self.text(raw)))
        case UInt8(ascii: "n"): return  // null, which counts as absent
        default: found.append((name, nil))
        }
    }

    /// Takes a text with its quotes; `nil` if it has no end.
    private mutating func takeText() -> ArraySlice<UInt8>? {
        let start = position
        position += 1
        while let byte {
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return bytes[start..<position] }
        }
        return nil
    }

    /// The text in proper quotes.
    private static func text(_ raw: ArraySlice<UInt8>) -> String? {
        let object = Array(#"{"t":"#.utf8) + raw + [UInt8(ascii: "}")]
        return (try? JSONObject(parsing: object))?.string("t")  // no caller needs the reason
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }
}
