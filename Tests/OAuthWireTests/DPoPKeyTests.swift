// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import Testing

@testable import OAuthWire

@Suite struct DPoPKeyTests {
    private func parts(_ proof: String) throws -> [[UInt8]] {
        try proof.split(separator: ".", omittingEmptySubsequences: false).map {
            try #require(Base64URL.decode(String($0)))
        }
    }

    @Test func provesOneRequest() throws {
        let key = DPoPKey()
        let proof = try key.proof("POST", "https://as.test/token", at: 1_700_000_000, nonce: "n", accessToken: "token")
        let bytes = try parts(proof)
        let (header, claims) = (try JSONObject(parsing: bytes[0]), try JSONObject(parsing: bytes[1]))
        #expect(header.string("typ") == "dpop+jwt" && header.string("alg") == "ES256" && header.members.count == 3)
        let jwk = try #require(header.object("jwk"))
        #expect(jwk.members.map(\.name) == ["crv", "kty", "x", "y"])
        #expect(claims.string("htm") == "POST" && claims.string("htu") == "https://as.test/token")
        #expect(claims.integer("iat") == 1_700_000_000 && claims.string("nonce") == "n")
        #expect(claims.string("ath") == Base64URL.encode(Array(SHA256.hash(data: Array("token".utf8)))))
        let point = try ["x", "y"].flatMap { try #require(jwk.string($0).flatMap { Base64URL.decode($0) }) }
        let publicKey = try P256.Signing.PublicKey(rawRepresentation: point)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes[2])
        let signed = proof.prefix(upTo: try #require(proof.lastIndex(of: ".")))
        #expect(publicKey.isValidSignature(signature, for: Array(signed.utf8)))
        #expect(key.keyID == Base64URL.encode(Array(SHA256.hash(data: jwk.serialized()))))
    }

    @Test func drawsAnIdentifierForEachProof() throws {
        let key = DPoPKey()
        let identifiers = try (0..<20).map { _ in
            try JSONObject(parsing: parts(key.proof("GET", "https://h/", at: 1, nonce: nil))[1])
        }
        #expect(Set(identifiers.map { $0.string("jti") }).count == 20)
        #expect(identifiers.allSatisfy { $0["nonce"] == nil && $0["ath"] == nil && $0.string("jti")?.utf8.count == 22 })
    }

    @Test func isTheSameKeyAgain() throws {
        let key = DPoPKey()
        #expect(DPoPKey(secret: key.secret) == key && DPoPKey() != key)
        for damaged in ["", "AAAA", String(key.secret.dropLast(2)), "not base64!"] {
            #expect(DPoPKey(secret: damaged) == nil)
        }
        #expect(!"\(key)".contains(key.secret))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains(key.secret))
    }
}
