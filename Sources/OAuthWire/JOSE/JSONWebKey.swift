// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

/// A public key in a server's published form.
/// - SeeAlso: [RFC 7517 §4](https://www.rfc-editor.org/rfc/rfc7517#section-4),
///   [RFC 7518 §6](https://www.rfc-editor.org/rfc/rfc7518#section-6), [RFC 8037 §2](https://www.rfc-editor.org/rfc/rfc8037#section-2)
package struct JSONWebKey: Sendable {
    enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    /// `kid`.
    package let keyID: String?
    /// `alg`: the key's only algorithm, if the server names it.
    package let algorithm: String?
    let material: Material

    /// Reads a key; `nil` if it cannot verify signatures: an unknown type or curve, an encryption key, a broken key, or
    /// RSA outside 2,048 to 8,192 bits.
    package init?(_ json: JSONObject) {
        if let use = json["use"], use != .string("sig") { return nil }
        if json["key_ops"] != nil, json.strings("key_ops")?.contains("verify") != true { return nil }
        guard let material = Self.material(json) else { return nil }
        self.material = material
        keyID = json.string("kid")
        algorithm = json.string("alg")
    }

    /// Whether the key has the algorithm's type and curve, and is not reserved for another algorithm.
    func fits(_ wanted: SignatureAlgorithm) -> Bool {
        if let algorithm, SignatureAlgorithm(name: algorithm) != wanted { return false }
        return switch (material, wanted) {
        case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512): true
        case (.rsa, .ps256), (.rsa, .ps384), (.rsa, .ps512): true
        case (.p256, .es256), (.p384, .es384), (.p521, .es512), (.ed25519, .edDSA): true
        default: false
        }
    }

    private static func material(_ json: JSONObject) -> Material? {
        // Deviation: UAA pads the numbers, and IdentityServer wrote them in the standard alphabet. No signature covers
        // them.
        func bytes(_ name: String) -> [UInt8]? { json.string(name).flatMap { Base64URL.decodeLenient($0) } }
        switch (json.string("kty"), json.string("crv")) {
        case ("RSA", _):
            guard let modulus = bytes("n"), let exponent = bytes("e") else { return nil }
            return rsa(modulus: modulus, exponent: exponent)
        case ("EC", let curve?):
            guard let x = bytes("x"), let y = bytes("y") else { return nil }
            return ellipticCurve(curve, x: x, y: y)
        case ("OKP", "Ed25519"):
            guard let x = bytes("x"), x.count == 32 else { return nil }
            return (try? Curve25519.Signing.PublicKey(rawRepresentation: x)).map { .ed25519($0) }
        default:
            return nil
        }
    }

    private static func rsa(modulus: [UInt8], exponent: [UInt8]) -> Material? {
        let significant = modulus.drop { $0 == 0 }
        let bits = significant.count * 8 - (significant.first?.leadingZeroBitCount ?? 0)
        guard (2_048...8_192).contains(bits), (1...8).contains(exponent.count) else { return nil }
        return (try? _RSA.Signing.PublicKey(n: Array(significant), e: exponent)).map { .rsa($0) }
    }

    /// The cryptographic library checks that the point is on the curve.
    ///
    /// Deviation: the coordinates must have their full length (RFC 7518 §6.2.1.2), but Keycloak has left zeros at their
    /// beginning out, and oxAuth has put one more there.
    private static func ellipticCurve(_ curve: String, x: [UInt8], y: [UInt8]) -> Material? {
        func point(_ length: Int) -> [UInt8]? {
            let numbers = [x, y].map { $0.drop { $0 == 0 } }
            guard !x.isEmpty, !y.isEmpty, numbers.allSatisfy({ $0.count <= length }) else { return nil }
            return numbers.reduce([0x04]) { $0 + [UInt8](repeating: 0, count: length - $1.count) + $1 }
        }
        switch curve {
        case "P-256": return point(32).flatMap { try? P256.Signing.PublicKey(x963Representation: $0) }.map { .p256($0) }
        case "P-384": return point(48).flatMap { try? P384.Signing.PublicKey(x963Representation: $0) }.map { .p384($0) }
        case "P-521": return point(66).flatMap { try? P521.Signing.PublicKey(x963Representation: $0) }.map { .p521($0) }
        default: return nil
        }
    }
}

extension JSONWebKey {
    /// Whether `signature` is this key's signature of `message`; `false` also if key and algorithm do not fit.
    package func verifies(_ signature: [UInt8], of message: [UInt8], with algorithm: SignatureAlgorithm) -> Bool {
        guard fits(algorithm) else { return false }
        switch material {
        case .rsa(let key):
            return Self.verifies(key, signature, of: message, with: algorithm)
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA256.hash(data: message))
        case .p384(let key):
            guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA384.hash(data: message))
        case .p521(let key):
            guard let signature = try? P521.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA512.hash(data: message))
        case .ed25519(let key):
            return key.isValidSignature(signature, for: message)
        }
    }

    /// PSS uses a salt as long as the digest and MGF1 with the same hash, as RFC 7518 §3.5 requires.
    private static func verifies(
        _ key: _RSA.Signing.PublicKey,
        _ signature: [UInt8],
        of message: [UInt8],
        with algorithm: SignatureAlgorithm
    ) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        func isValid(_ digest: some Digest, _ padding: _RSA.Signing.Padding) -> Bool {
            key.isValidSignature(signature, for: digest, padding: padding)
        }
        return switch algorithm {
        case .rs256: isValid(SHA256.hash(data: message), .insecurePKCS1v1_5)
        case .rs384: isValid(SHA384.hash(data: message), .insecurePKCS1v1_5)
        case .rs512: isValid(SHA512.hash(data: message), .insecurePKCS1v1_5)
        case .ps256: isValid(SHA256.hash(data: message), .PSS)
        case .ps384: isValid(SHA384.hash(data: message), .PSS)
        case .ps512: isValid(SHA512.hash(data: message), .PSS)
        default: false
        }
    }
}
