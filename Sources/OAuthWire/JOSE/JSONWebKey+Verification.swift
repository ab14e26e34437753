// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

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
