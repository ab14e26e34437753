// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials

/// The private key of a sign-in whose tokens are bound to it (DPoP): P-256, which signs with ES256.
/// - SeeAlso: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
package final class DPoPKey: Sendable {
    /// The name of the signatures' algorithm.
    package static let algorithm = SignatureAlgorithm.es256

    /// The public key's thumbprint in base64url (RFC 7638).
    package let keyID: String
    /// The header of all proofs, in base64url.
    private let header: String
    private let key: P256.Signing.PrivateKey

    /// Makes a new key, with the operating system's randomness.
    package convenience init() {
        self.init(P256.Signing.PrivateKey())
    }

    /// Reads a key: the private number in base64url. `nil` for something else.
    package convenience init?(secret: String) {
        guard let bytes = Base64URL.decode(secret), let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else {
            return nil
        }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        let point = Array(key.publicKey.rawRepresentation)
        // In the order of the thumbprint.
        let publicKey = JSONObject([
            ("crv", .string("P-256")), ("kty", .string("EC")), ("x", .string(Base64URL.encode(Array(point[..<32])))),
            ("y", .string(Base64URL.encode(Array(point[32...])))),
        ])
        keyID = Base64URL.encode(Array(SHA256.hash(data: publicKey.serialized())))
        let header = JSONObject([
            ("typ", .string("dpop+jwt")), ("alg", .string(Self.algorithm.rawValue)), ("jwk", .object(publicKey)),
        ])
        self.header = Base64URL.encode(header.serialized())
        self.key = key
    }

    /// The private number in base64url. It is a secret.
    package var secret: String { Base64URL.encode(Array(key.rawRepresentation)) }

    /// Returns the proof that the key's holder sends one request. It takes some 60 µs.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - address: The request's address without query and fragment.
    ///   - now: The time in Unix seconds.
    ///   - nonce: The server's nonce, if it gave one.
    ///   - accessToken: The token that the request shows; `nil` at the token endpoint.
    /// - SeeAlso: [RFC 9449 §4.2](https://www.rfc-editor.org/rfc/rfc9449#section-4.2)
    package func proof(
        _ method: String,
        _ address: String,
        at now: Int64,
        nonce: String?,
        accessToken: String? = nil
    ) throws -> String {
        var claims = JSONObject([
            ("jti", .string(SecureRandom.token(bytes: 16))), ("htm", .string(method)), ("htu", .string(address)),
            ("iat", .integer(now)),
        ])
        claims["nonce"] = nonce.map { .string($0) }
        claims["ath"] = accessToken.map {
            .string(Base64URL.encode(Array(SHA256.hash(data: Array($0.utf8)))))
        }
        let text = "\(header).\(Base64URL.encode(claims.serialized()))"
        let signature = try key.signature(for: Array(text.utf8))
        return "\(text).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }
}

extension DPoPKey: Hashable {
    package static func == (first: DPoPKey, second: DPoPKey) -> Bool { first.keyID == second.keyID }
    package func hash(into hasher: inout Hasher) { hasher.combine(keyID) }
}

extension DPoPKey: CustomStringConvertible, CustomReflectable {
    /// The key's identifier, without a secret.
    package var description: String { "DPoPKey(\(keyID))" }

    /// Shows no secret, so that `dump` reveals none.
    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}
