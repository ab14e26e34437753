// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A signed token in its compact form, parsed and not yet verified.
/// - SeeAlso: [RFC 7515 §3.1](https://www.rfc-editor.org/rfc/rfc7515#section-3.1),
///   [RFC 7519](https://www.rfc-editor.org/rfc/rfc7519)
package struct JSONWebToken: Sendable {
    /// The maximum length of a token, in bytes.
    package static let maximumLength = 65_536

    package let header: JSONObject
    /// `alg` as written; see ``signatureAlgorithm``.
    package let algorithm: String
    /// `kid`.
    package let keyID: String?
    package let claims: JSONObject
    /// The bytes that are signed.
    package let signingInput: [UInt8]
    package let signature: [UInt8]

    /// Whether a token in its compact form is encrypted, and so has no claims that can be read.
    /// - SeeAlso: [RFC 7516 §3.1](https://www.rfc-editor.org/rfc/rfc7516#section-3.1)
    package static func isEncrypted(_ compact: String) -> Bool {
        compact.utf8.count { $0 == UInt8(ascii: ".") } == 4
    }

    /// The claims of a token in its compact form, as they stand in the token and unchecked; `nil` if they are no text.
    package static func claimsText(ofCompact token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The algorithm, if the library verifies it.
    package var signatureAlgorithm: SignatureAlgorithm? { SignatureAlgorithm(name: algorithm) }

    /// Parses a token.
    /// - Throws: `WireError` unless it has three segments in strict base64url, two JSON objects with `alg` in the
    ///   first, at most 65,536 bytes, and no `crit`, which would require unknown extensions.
    package init(compact: String) throws {
        guard compact.utf8.count <= Self.maximumLength else {
            throw WireError.malformed("token: longer than \(Self.maximumLength) bytes")
        }
        let segments = compact.utf8.split(
            separator: UInt8(ascii: "."),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard segments.count == 3 else { throw WireError.malformed("token: segments") }
        guard
            let headerBytes = Base64URL.decode(Substring(segments[0])),
            let claimsBytes = Base64URL.decode(Substring(segments[1])),
            let signature = Base64URL.decode(Substring(segments[2]))
        else { throw WireError.malformed("token: base64url") }
        guard let header = try? JSONObject(parsing: headerBytes) else { throw WireError.malformed("token: header") }
        guard let claims = try? JSONObject(parsing: claimsBytes) else { throw WireError.malformed("token: claims") }
        guard header["crit"] == nil else { throw WireError.malformed("token: crit") }
        algorithm = try header.requiredString("alg")
        keyID = try header.optionalString("kid")
        self.header = header
        self.claims = claims
        self.signature = signature
        signingInput = Array(compact.utf8[..<segments[1].endIndex])
    }
}

/// Writing tokens, for the test provider.
extension JSONWebToken {
    /// The text to sign.
    package static func signingInput(header: JSONObject, claims: JSONObject) -> String {
        "\(Base64URL.encode(header.serialized())).\(Base64URL.encode(claims.serialized()))"
    }

    /// The compact form of a signed text.
    package static func compact(signingInput: String, signature: [UInt8]) -> String {
        "\(signingInput).\(Base64URL.encode(signature))"
    }
}
