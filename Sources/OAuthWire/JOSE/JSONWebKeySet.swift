// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The public keys of a server.
/// - SeeAlso: [RFC 7517 §5](https://www.rfc-editor.org/rfc/rfc7517#section-5)
package struct JSONWebKeySet: Sendable {
    /// The maximum number of keys in a set.
    package static let maximumCount = 100

    /// The keys that can verify signatures.
    package let keys: [JSONWebKey]

    /// Reads a set; skips broken keys, encryption keys and unknown types.
    /// - Throws: `WireError` when `keys` is missing, not an array, or longer than 100.
    package init(_ json: JSONObject) throws {
        guard let value = json["keys"] else { throw WireError.missing("keys") }
        guard case .array(let values) = value else { throw WireError.wrongType("keys") }
        guard values.count <= Self.maximumCount else { throw WireError.malformed("keys: too many") }
        keys = values.compactMap { value in
            guard case .object(let key) = value else { return nil }
            return JSONWebKey(key)
        }
    }

    /// Checks that one of the keys signed `token`.
    ///
    /// If the token has a key id, keys with another id are not tried. A key need not have an id (RFC 7517 §4.5).
    /// - Returns: The algorithm of the signature.
    /// - Throws: `SignatureError`.
    @discardableResult
    package func verify(_ token: JSONWebToken) throws(SignatureError) -> SignatureAlgorithm {
        guard let algorithm = token.signatureAlgorithm else { throw .algorithmNotAllowed }
        let named = keys.filter { key in
            token.keyID.flatMap { wanted in key.keyID.map { WireText.areSame($0, wanted) } } ?? true
        }
        let fitting = named.filter { $0.fits(algorithm) }
        if fitting.contains(where: { $0.verifies(token.signature, of: token.signingInput, with: algorithm) }) {
            return algorithm
        }
        // Of keys without an id, another one may have signed a token that names its key.
        guard token.keyID == nil ? !fitting.isEmpty : named.contains(where: { $0.keyID != nil }) else {
            throw .unknownKey
        }
        throw fitting.contains { token.keyID == nil || $0.keyID != nil } ? .badSignature : .keyMismatch
    }
}
