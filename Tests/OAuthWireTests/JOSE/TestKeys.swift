// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import OAuthWire

/// A key pair of each kind, and tokens signed with it.
enum TestKeys {
    static let p256 = P256.Signing.PrivateKey()
    static let p384 = P384.Signing.PrivateKey()
    static let p521 = P521.Signing.PrivateKey()
    static let ed25519 = Curve25519.Signing.PrivateKey()
    static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// The public key for `algorithm`.
    static func published(for algorithm: SignatureAlgorithm) throws -> JSONObject {
        switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
            let primitives = try rsa.get().publicKey.getKeyPrimitives()
            return rsaKey(modulus: Array(primitives.modulus), exponent: Array(primitives.publicExponent))
        case .es256: return curveKey("P-256", Array(p256.publicKey.rawRepresentation))
        case .es384: return curveKey("P-384", Array(p384.publicKey.rawRepresentation))
        case .es512: return curveKey("P-521", Array(p521.publicKey.rawRepresentation))
        case .edDSA:
            let x = Base64URL.encode(Array(ed25519.publicKey.rawRepresentation))
            return JSONObject([("kty", .string("OKP")), ("crv", .string("Ed25519")), ("x", .string(x))])
        }
    }

    static func rsaKey(modulus: [UInt8], exponent: [UInt8] = [1, 0, 1]) -> JSONObject {
        JSONObject([
            ("kty", .string("RSA")), ("n", .string(Base64URL.encode(modulus))),
            ("e", .string(Base64URL.encode(exponent))),
        ])
    }

    private static func curveKey(_ curve: String, _ point: [UInt8]) -> JSONObject {
        let half = point.count / 2
        return JSONObject([
            ("kty", .string("EC")), ("crv", .string(curve)),
            ("x", .string(Base64URL.encode(Array(point[..<half])))),
            ("y", .string(Base64URL.encode(Array(point[half...])))),
        ])
    }

    /// A token signed with the key for `algorithm`. `header` is added to its header, and `named` is the value of `alg`.
    static func token(
        _ algorithm: SignatureAlgorithm,
        named: String? = nil,
        header extra: [(name: String, value: JSONValue)] = [],
        claims: JSONObject = JSONObject([("sub", .string("me"))])
    ) throws -> String {
        let header = JSONObject([("alg", .string(named ?? algorithm.rawValue))] + extra)
        let input = JSONWebToken.signingInput(header: header, claims: claims)
        return JSONWebToken.compact(signingInput: input, signature: try sign(Array(input.utf8), with: algorithm))
    }

    private static func sign(_ message: [UInt8], with algorithm: SignatureAlgorithm) throws -> [UInt8] {
        func rsa(_ digest: some Digest, _ padding: _RSA.Signing.Padding) throws -> [UInt8] {
            Array(try Self.rsa.get().signature(for: digest, padding: padding).rawRepresentation)
        }
        return switch algorithm {
        case .rs256: try rsa(SHA256.hash(data: message), .insecurePKCS1v1_5)
        case .rs384: try rsa(SHA384.hash(data: message), .insecurePKCS1v1_5)
        case .rs512: try rsa(SHA512.hash(data: message), .insecurePKCS1v1_5)
        case .ps256: try rsa(SHA256.hash(data: message), .PSS)
        case .ps384: try rsa(SHA384.hash(data: message), .PSS)
        case .ps512: try rsa(SHA512.hash(data: message), .PSS)
        case .es256: Array(try p256.signature(for: SHA256.hash(data: message)).rawRepresentation)
        case .es384: Array(try p384.signature(for: SHA384.hash(data: message)).rawRepresentation)
        case .es512: Array(try p521.signature(for: SHA512.hash(data: message)).rawRepresentation)
        case .edDSA: Array(try ed25519.signature(for: message))
        }
    }
}

/// A key set that contains `keys`.
func keySet(_ keys: JSONObject...) throws -> JSONWebKeySet {
    try JSONWebKeySet(JSONObject([("keys", .array(keys.map { .object($0) }))]))
}

extension JSONObject {
    /// The object with one member added or replaced.
    func with(_ name: String, _ value: JSONValue?) -> JSONObject {
        var copy = self
        copy[name] = value
        return copy
    }
}
