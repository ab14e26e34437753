// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The signature algorithms this library verifies: asymmetric ones only.
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

    /// The algorithm of that name in a token or a key; `nil` when it is none of ours.
    ///
    /// `Ed25519` is the newer name of what `EdDSA` means with an Ed25519 key.
    /// - SeeAlso: [RFC 9864 §2.2](https://www.rfc-editor.org/rfc/rfc9864#section-2.2)
    package init?(name: String) {
        self.init(rawValue: name == "Ed25519" ? Self.edDSA.rawValue : name)
    }
}

/// Why a signature is not accepted.
package enum SignatureError: Error, Hashable, Sendable {
    /// The token's algorithm is none of ours.
    case algorithmNotAllowed
    /// No published key has the token's key id or, without one, fits its algorithm. Here and below, fetching the keys
    /// anew may help: they can be replaced under the same id, and need not have one.
    case unknownKey
    /// The key with the token's id is of another type or curve, or for another algorithm.
    case keyMismatch
    /// The signature is not by that key over that text.
    case badSignature
}
