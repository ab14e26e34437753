// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Reads the value of one `WWW-Authenticate` or `Authentication-Info` field.
struct ChallengeParser {
    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func parse(into challenges: inout [AuthenticationChallenge], atMost limit: Int) {
        while challenges.count < limit {
            skipListSpace()
            guard let scheme = token() else { return }
            let hasSpace = skipBlanks()
            guard position < bytes.count, peek() != UInt8(ascii: ",") else {
                challenges.append(AuthenticationChallenge(scheme: scheme))
                continue
            }
            guard hasSpace else { return }
            if let text = token68() {
                challenges.append(AuthenticationChallenge(scheme: scheme, token68: text))
                continue
            }
            guard let (parameters, isUnique) = parameters() else { return }
            if isUnique { challenges.append(AuthenticationChallenge(scheme: scheme, parameters: parameters)) }
        }
    }

    /// The parameters of a field that has nothing else; `nil` at a mistake, or if one is repeated.
    mutating func information() -> [String: String]? {
        skipListSpace()
        guard let (parameters, isUnique) = parameters(), isUnique, position == bytes.count else { return nil }
        return parameters
    }

    /// One or more parameters, up to the next challenge's scheme; `nil` at a mistake.
    private mutating func parameters() -> (parameters: [String: String], isUnique: Bool)? {
        var parameters: [String: String] = [:]
        var isUnique = true
        while true {
            let start = position
            guard let name = token() else {
                return position == bytes.count && start == position ? (parameters, isUnique) : nil
            }
            skipBlanks()
            guard take(UInt8(ascii: "=")) else {
                // This is no parameter but the next challenge's scheme, if it follows a comma.
                guard !parameters.isEmpty else { return nil }
                position = start
                return (parameters, isUnique)
            }
            skipBlanks()
            guard let value = peek() == UInt8(ascii: "\"") ? quotedString() : token() else { return nil }
            if parameters.updateValue(value, forKey: name.lowercased()) != nil { isUnique = false }
            skipBlanks()
            guard position < bytes.count else { return (parameters, isUnique) }
            guard peek() == UInt8(ascii: ",") else { return nil }
            skipListSpace()
        }
    }

    /// A base64-like text before a comma or the end. Otherwise the parser does not move.
    private mutating func token68() -> String? {
        var end = position
        while end < bytes.count, Self.isToken68(bytes[end]) { end += 1 }
        guard end > position else { return nil }
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        var next = end
        while next < bytes.count, Self.isBlank(bytes[next]) { next += 1 }
        guard next == bytes.count || bytes[next] == UInt8(ascii: ",") else { return nil }
        defer { position = next }
        return String(decoding: bytes[position..<end], as: UTF8.self)
    }

    private mutating func token() -> String? {
        let start = position
        while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    private mutating func quotedString() -> String? {
        position += 1
        var content: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard position < bytes.count, bytes[position].isFieldText else { return nil }
                content.append(bytes[position])
                position += 1
            case _ where byte.isFieldText: content.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    @discardableResult
    private mutating func skipBlanks() -> Bool {
        let start = position
        while let byte = peek(), Self.isBlank(byte) { position += 1 }
        return position > start
    }

    /// Blanks and the commas of empty list elements (RFC 9110 §5.6.1).
    private mutating func skipListSpace() {
        while let byte = peek(), Self.isBlank(byte) || byte == UInt8(ascii: ",") { position += 1 }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isToken68(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "-._~+/".utf8.contains(byte) }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
