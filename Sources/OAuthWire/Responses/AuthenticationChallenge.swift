// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One way in which a resource asks for authentication, out of `WWW-Authenticate`.
///
/// Everything in it is the resource's word: an address in it is not followed.
/// - SeeAlso: [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)
package struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme in lower case: `bearer`, `basic`, `dpop`.
    package let scheme: String

    /// What stands in place of parameters, as in `Negotiate YII=`.
    package let token68: String?

    /// The parameters, their names in lower case.
    package let parameters: [String: String]

    package init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme.lowercased()
        self.token68 = token68
        self.parameters = parameters
    }
}

extension AuthenticationChallenge {
    /// `error`, in lower case.
    /// - SeeAlso: [RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)
    package var error: String? { parameters["error"]?.lowercased() }

    /// The claims that a Bearer challenge demands, as JSON text; `nil` where it demands none that can be passed on.
    ///
    /// They are written in base64, base64url or plainly; they must be a JSON object of at most 16 KiB. They count only
    /// where the error is `insufficient_claims`.
    package var claims: String? {
        guard scheme == "bearer", error == "insufficient_claims", let text = parameters["claims"],
            text.utf8.count <= Self.maximumClaimsLength * 4 / 3 + 4
        else { return nil }
        for bytes in [Base64URL.decodeLenient(text), Array(text.utf8)].compactMap(\.self) {
            guard bytes.count <= Self.maximumClaimsLength else { continue }
            // The reason is of no use to anyone.
            if (try? JSONObject(parsing: bytes)) != nil { return String(decoding: bytes, as: UTF8.self) }
        }
        return nil
    }

    private static let maximumClaimsLength = 16 * 1024
}

extension AuthenticationChallenge {
    /// The challenges of all fields of an answer, in their order.
    ///
    /// A challenge that has a parameter twice is left out, because two readers could understand it differently. What
    /// follows a mistake in a field is left out as well. Of more than 64 KiB nothing is read, of more than 32
    /// challenges the first 32.
    package static func parse(_ fieldValues: [String]) -> [AuthenticationChallenge] {
        guard fieldValues.reduce(0, { $0 + $1.utf8.count }) <= 64 * 1024 else { return [] }
        var challenges: [AuthenticationChallenge] = []
        for value in fieldValues {
            var parser = ChallengeParser(bytes: Array(value.utf8))
            parser.parse(into: &challenges, atMost: 32)
        }
        return challenges
    }
}

/// Reads one field's value.
private struct ChallengeParser {
    let bytes: [UInt8]
    var position = 0

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

    /// One or more parameters; `nil` at a mistake. It ends before the next challenge's scheme.
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
                // No parameter: the next challenge's scheme, if a comma stood before it.
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

    /// Characters of base64 and their like, when a comma or the end follows. Moves on only then.
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
                guard position < bytes.count, Self.isText(bytes[position]) else { return nil }
                content.append(bytes[position])
                position += 1
            case _ where Self.isText(byte): content.append(byte)
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

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

    private static func isToken68(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "-._~+/".utf8.contains(byte)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
