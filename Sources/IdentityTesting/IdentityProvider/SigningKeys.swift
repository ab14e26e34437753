// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import OAuthWire
import Synchronization

/// A key that signs tokens.
struct SigningKey: Sendable {
    let keyID: String
    private let key: _RSA.Signing.PrivateKey

    private init(keyID: String) throws {
        self.keyID = keyID
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    private static let made = Mutex<[SigningKey]>([])

    /// Returns the process's key number `index`. All providers share the keys, because making one takes more than 0.1
    /// s.
    static func number(_ index: Int) throws -> SigningKey {
        try made.withLock { keys in
            while keys.count <= index { keys.append(try SigningKey(keyID: name(ofNumber: keys.count))) }
            return keys[index]
        }
    }

    static func name(ofNumber index: Int) -> String { "key-\(index + 1)" }

    /// Returns the key that no provider publishes.
    static func unpublished() throws -> SigningKey { try number(1).named(number(0).keyID) }

    /// Returns the same key under another name.
    func named(_ keyID: String) -> SigningKey { SigningKey(keyID: keyID, key: key) }

    private init(keyID: String, key: _RSA.Signing.PrivateKey) {
        self.keyID = keyID
        self.key = key
    }

    var publicJSON: JSONObject {
        get throws {
            let primitives = try key.publicKey.getKeyPrimitives()
            return JSONObject([
                ("kty", .string("RSA")), ("use", .string("sig")), ("alg", .string("RS256")), ("kid", .string(keyID)),
                ("n", .string(Base64URL.encode(Array(primitives.modulus)))),
                ("e", .string(Base64URL.encode(Array(primitives.publicExponent)))),
            ])
        }
    }

    func signature(of text: String) throws -> [UInt8] {
        let digest = SHA256.hash(data: Array(text.utf8))
        return Array(try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    /// Returns a signed token with `claims`.
    func token(_ claims: JSONObject, type: String = "JWT") throws -> String {
        let header = JSONObject([("alg", .string("RS256")), ("typ", .string(type)), ("kid", .string(keyID))])
        let input = JSONWebToken.signingInput(header: header, claims: claims)
        return JSONWebToken.compact(signingInput: input, signature: try signature(of: input))
    }
}
