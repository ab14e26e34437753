// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A public RSA key of SSH.
///
/// A class, so that a value that may have one stays small.
/// - SeeAlso: [RFC 4253 §6.6](https://www.rfc-editor.org/rfc/rfc4253#section-6.6)
package final class SSHRSAKey: Hashable, Sendable {
    package static let type = "ssh-rsa"

    /// The numbers, the most significant byte first, without zero bytes in front.
    package let exponent: [UInt8]
    package let modulus: [UInt8]
    /// The key's thumbprint in base64url. It depends on nothing but the two numbers.
    /// - SeeAlso: [RFC 7638 §3](https://www.rfc-editor.org/rfc/rfc7638#section-3)
    package let thumbprint: String

    /// - Throws: `.wrongType` for numbers that no such key has, and for fewer than 2,048 or more than 16,384 bits.
    package init(exponent: [UInt8], modulus: [UInt8]) throws(WireError) {
        guard let first = exponent.first, first != 0, let last = exponent.last, last & 1 == 1, exponent != [1],
            exponent.count <= 8
        else { throw WireError.wrongType("exponent") }
        guard let first = modulus.first, first != 0, let last = modulus.last, last & 1 == 1,
            (2048...16_384).contains(modulus.count * 8 - first.leadingZeroBitCount)
        else { throw WireError.wrongType("modulus") }
        self.exponent = exponent
        self.modulus = modulus
        let members = JSONObject(Self.members(exponent, modulus))
        thumbprint = Base64URL.encode(Array(SHA256.hash(data: members.serialized())))
    }

    /// Reads a key in the wire format.
    package convenience init(blob: [UInt8]) throws(WireError) {
        var reader = SSHReader(blob)
        guard try reader.text("type") == Self.type else { throw WireError.wrongType("type") }
        try self.init(reading: &reader)
        guard reader.isAtEnd else { throw WireError.malformed("end") }
    }

    /// Reads the two numbers.
    package convenience init(reading reader: inout SSHReader) throws(WireError) {
        let exponent = try reader.positiveInteger("exponent")
        try self.init(exponent: exponent, modulus: try reader.positiveInteger("modulus"))
    }

    /// The key in the wire format.
    package var blob: [UInt8] {
        var writer = SSHWriter()
        writer.string(Self.type.utf8)
        writer.positiveInteger(exponent)
        writer.positiveInteger(modulus)
        return writer.bytes
    }

    /// The key as Entra ID takes it in `req_cnf`: a JSON Web Key with the thumbprint as its name.
    /// - SeeAlso: [RFC 7517 §4](https://www.rfc-editor.org/rfc/rfc7517#section-4)
    package var webKey: JSONObject {
        JSONObject(Self.members(exponent, modulus) + [("kid", .string(thumbprint))])
    }

    private static func members(_ exponent: [UInt8], _ modulus: [UInt8]) -> [(String, JSONValue)] {
        [
            ("e", .string(Base64URL.encode(exponent))), ("kty", .string("RSA")),
            ("n", .string(Base64URL.encode(modulus))),
        ]
    }

    package static func == (first: SSHRSAKey, second: SSHRSAKey) -> Bool {
        first === second || first.exponent == second.exponent && first.modulus == second.modulus
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }
}
