// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The signature algorithms that this library verifies, all asymmetric.
///
/// `none` and the HMAC family are not here, so nothing can admit them.
/// - SeeAlso: [RFC 7518 §3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1),
///   [RFC 8037 §3.1](https://www.rfc-editor.org/rfc/rfc8037#section-3.1)
package enum SignatureAlgorithm: String, CaseIterable, Hashable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// With Ed25519 keys.
    case edDSA = "EdDSA"

    /// The algorithm with this name in a token or a key; `nil` for an unsupported name.
    ///
    /// `Ed25519` is the newer name of `EdDSA` with an Ed25519 key.
    /// - SeeAlso: [RFC 9864 §2.2](https://www.rfc-editor.org/rfc/rfc9864#section-2.2)
    package init?(name: String) {
        self.init(rawValue: name == "Ed25519" ? Self.edDSA.rawValue : name)
    }
}

/// The reason to refuse a signature.
package enum SignatureError: Error, Hashable, Sendable {
    /// The token's algorithm is unsupported.
    case algorithmNotAllowed
    /// No published key has the token's key id or, without one, fits its algorithm. Here and below, fetching the keys
    /// again may help: a key can be replaced under the same id, and need not have an id.
    case unknownKey
    /// The key with the token's id has another type or curve, or is for another algorithm.
    case keyMismatch
    /// The signature does not match the key and the text.
    case badSignature
}
