// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

/// A private key whose holder may use the access tokens that are bound to it: RSA with 2,048 bits, which signs with PS256.
/// - SeeAlso: [RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)
package struct PossessionKey: Sendable {
    /// The name of the signatures' algorithm.
    package static let algorithm = SignatureAlgorithm.ps256

    /// The public key, with the members of its thumbprint alone, in the thumbprint's order.
    package let publicKey: JSONObject
    /// The public key's thumbprint in base64url.
    /// - SeeAlso: [RFC 7638 §3](https://www.rfc-editor.org/rfc/rfc7638#section-3)
    package let keyID: String
    private let key: _RSA.Signing.PrivateKey

    /// Makes a new key, with the operating system's randomness. It takes about a tenth of a second.
    package init() throws {
        try self.init(_RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    /// Reads a key in the form of PKCS #8.
    ///
    /// - Throws: An error for something else, or for a key with fewer than 2,048 or more than 4,096 bits.
    package init(pkcs8 bytes: [UInt8]) throws {
        let key = try _RSA.Signing.PrivateKey(derRepresentation: bytes)
        guard (2_048...4_096).contains(key.keySizeInBits) else { throw WireError.malformed("private key") }
        try self.init(key)
    }

    private init(_ key: _RSA.Signing.PrivateKey) throws {
        let numbers = try key.publicKey.getKeyPrimitives()
        publicKey = JSONObject([
            ("e", .string(Base64URL.encode(Array(numbers.publicExponent)))),
            ("kty", .string("RSA")),
            ("n", .string(Base64URL.encode(Array(numbers.modulus)))),
        ])
        keyID = Base64URL.encode(Array(SHA256.hash(data: publicKey.serialized())))
        self.key = key
    }

    /// The private key in the form of PKCS #8. It is a secret.
    package var pkcs8: [UInt8] { Array(key.pkcs8DERRepresentation) }

    /// Signs a message. It takes about a millisecond.
    package func signature(of message: [UInt8]) throws -> [UInt8] {
        Array(try key.signature(for: SHA256.hash(data: message), padding: .PSS).rawRepresentation)
    }
}

extension PossessionKey: CustomStringConvertible, CustomReflectable {
    /// The key's identifier, without a secret.
    package var description: String { "PossessionKey(\(keyID))" }

    /// Shows no secret, so that `dump` reveals none.
    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}
