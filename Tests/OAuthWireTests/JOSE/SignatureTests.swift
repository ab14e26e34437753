// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import OAuthWire
import Testing

@Suite struct SignatureTests {
    @Test(arguments: [
        ("RFC 7515 A.2", SpecificationExamples.rsaKey, SpecificationExamples.rsaToken, SignatureAlgorithm.rs256),
        ("RFC 7515 A.3", SpecificationExamples.p256Key, SpecificationExamples.es256Token, .es256),
    ])
    func verifiesTheTokensOfTheSpecification(
        section: String,
        key: String,
        compact: String,
        algorithm: SignatureAlgorithm
    ) throws {
        let token = try JSONWebToken(compact: compact)
        #expect(token.claims.string("iss") == "joe")
        #expect(token.claims.integer("exp") == 1_300_819_380)
        #expect(try keySet(json(key)).verify(token) == algorithm)
    }

    @Test(arguments: [
        (
            "RFC 7515 A.4", SpecificationExamples.p521Key, SpecificationExamples.es512Input,
            SpecificationExamples.es512Signature, SignatureAlgorithm.es512
        ),
        (
            "RFC 8037 A.4", SpecificationExamples.ed25519Key, SpecificationExamples.ed25519Input,
            SpecificationExamples.ed25519Signature, .edDSA
        ),
    ])
    func verifiesTheSignaturesOfTheSpecification(
        section: String,
        key: String,
        input: String,
        signature: String,
        algorithm: SignatureAlgorithm
    ) throws {
        let key = try #require(JSONWebKey(json(key)))
        let signature = try #require(Base64URL.decode(signature))
        #expect(key.verifies(signature, of: Array(input.utf8), with: algorithm))
        #expect(!key.verifies(signature, of: Array(input.utf8) + [0], with: algorithm))
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func verifiesEveryAlgorithmAndNoChangedByte(algorithm: SignatureAlgorithm) throws {
        let keys = try keySet(TestKeys.published(for: algorithm))
        let compact = try TestKeys.token(algorithm)
        #expect(try keys.verify(JSONWebToken(compact: compact)) == algorithm)

        let parts = compact.split(separator: ".").map(String.init)
        let claims = Base64URL.encode(Array(#"{"sub":"you"}"#.utf8))
        #expect(throws: SignatureError.badSignature) {
            try keys.verify(JSONWebToken(compact: "\(parts[0]).\(claims).\(parts[2])"))
        }
        var signature = try #require(Base64URL.decode(parts[2]))
        signature[signature.count / 2] ^= 1
        for broken in [signature, Array(signature.dropLast()), signature + [0], []] {
            #expect(throws: SignatureError.badSignature) {
                try keys.verify(JSONWebToken(compact: "\(parts[0]).\(parts[1]).\(Base64URL.encode(broken))"))
            }
        }
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func everyAlgorithmIsRefusedUnderAnother(algorithm: SignatureAlgorithm) throws {
        let key = try TestKeys.published(for: algorithm)
        for other in SignatureAlgorithm.allCases where other != algorithm {
            let token = try JSONWebToken(compact: TestKeys.token(algorithm, named: other.rawValue))
            #expect(throws: SignatureError.self) { try keySet(key).verify(token) }
            let published = try TestKeys.published(for: other)
            let sameKey = published == key
            #expect(throws: sameKey ? SignatureError.badSignature : .unknownKey) { try keySet(key).verify(token) }
        }
    }

    /// RFC 9864 §2.2, in a token and in a key.
    @Test(arguments: ["EdDSA", "Ed25519"], ["EdDSA", "Ed25519", nil])
    func knowsEd25519ByBothNames(inToken: String, inKey: String?) throws {
        let key = try TestKeys.published(for: .edDSA).with("alg", inKey.map { .string($0) } ?? .null)
        let token = try JSONWebToken(compact: TestKeys.token(.edDSA, named: inToken))
        #expect(try keySet(key).verify(token) == .edDSA)
        let other = try TestKeys.published(for: .es256).with("alg", .string("Ed25519"))
        #expect(throws: SignatureError.unknownKey) { try keySet(other).verify(token) }
    }

    @Test func refusesUnsecuredAndSymmetricTokens() throws {
        let keys = try keySet(json(SpecificationExamples.rsaKey))
        for compact in [SpecificationExamples.unsecuredToken, SpecificationExamples.hs256Token] {
            let token = try JSONWebToken(compact: compact)
            #expect(token.signatureAlgorithm == nil)
            #expect(throws: SignatureError.algorithmNotAllowed) { try keys.verify(token) }
        }
    }

    @Test(arguments: ["none", "None", "nOnE", "HS256", "rs256", "RS1", "ES256K", "dir", "EdDSA ", "Ed448", "ed25519"])
    func onlyTheExactNamesAreAlgorithms(name: String) throws {
        let keys = try keySet(TestKeys.published(for: .rs256))
        let token = try JSONWebToken(compact: TestKeys.token(.rs256, named: name))
        #expect(throws: SignatureError.algorithmNotAllowed) { try keys.verify(token) }
    }

    /// A token whose HMAC secret is the published RSA key: the classic algorithm confusion.
    @Test func refusesAnHMACUnderThePublicKey() throws {
        let published = try TestKeys.published(for: .rs256)
        let pem = try TestKeys.rsa.get().publicKey.pemRepresentation
        for secret in [Array(pem.utf8), try #require(Base64URL.decode(published.string("n") ?? ""))] {
            let header = JSONObject([("alg", .string("HS256"))])
            let input = JSONWebToken.signingInput(header: header, claims: JSONObject())
            let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: SymmetricKey(data: secret))
            let token = try JSONWebToken(
                compact: JSONWebToken.compact(signingInput: input, signature: Array(code))
            )
            #expect(throws: SignatureError.algorithmNotAllowed) { try keySet(published).verify(token) }
            let symmetric = JSONObject([("kty", .string("oct")), ("k", .string(Base64URL.encode(secret)))])
            #expect(throws: SignatureError.algorithmNotAllowed) { try keySet(symmetric).verify(token) }
        }
    }

    @Test func aKeysOwnAlgorithmMustMatch() throws {
        let key = try TestKeys.published(for: .rs256).with("kid", .string("k"))
        let token = try JSONWebToken(compact: TestKeys.token(.rs256, header: [("kid", .string("k"))]))
        #expect(try keySet(key.with("alg", .string("RS256"))).verify(token) == .rs256)
        #expect(throws: SignatureError.keyMismatch) { try keySet(key.with("alg", .string("PS256"))).verify(token) }
    }

    @Test func aKeyIDSelectsTheKey() throws {
        let right = try TestKeys.published(for: .es256).with("kid", .string("right"))
        let other = try TestKeys.published(for: .es384).with("kid", .string("other"))
        let stranger = try json(SpecificationExamples.p256Key).with("kid", .string("stranger"))
        let keys = try keySet(other, stranger, right)
        func verify(_ kid: String?) throws -> SignatureAlgorithm {
            let header = kid.map { [(name: "kid", value: JSONValue.string($0))] } ?? []
            return try keys.verify(JSONWebToken(compact: TestKeys.token(.es256, header: header)))
        }
        #expect(try verify("right") == .es256)
        #expect(try verify(nil) == .es256)
        #expect(throws: SignatureError.keyMismatch) { try verify("other") }
        #expect(throws: SignatureError.badSignature) { try verify("stranger") }
        #expect(throws: SignatureError.unknownKey) { try verify("absent") }
        #expect(throws: SignatureError.unknownKey) {
            try keySet(other).verify(JSONWebToken(compact: TestKeys.token(.es256)))
        }
    }

    /// RFC 7517 §4.5: a key need not have an id, whatever the token says.
    @Test func aKeyWithoutAnIDIsTriedForEveryToken() throws {
        let right = try TestKeys.published(for: .es256)
        let stranger = try json(SpecificationExamples.p256Key).with("kid", nil)
        let token = try JSONWebToken(compact: TestKeys.token(.es256, header: [("kid", .string("k"))]))
        #expect(try keySet(stranger, right).verify(token) == .es256)
        #expect(try keySet(stranger.with("kid", .string("k")), right).verify(token) == .es256)
        for keys in [try keySet(stranger), try keySet(right.with("kid", .string("another")))] {
            #expect(throws: SignatureError.unknownKey) { try keys.verify(token) }
        }
        #expect(throws: SignatureError.badSignature) { try keySet(stranger.with("kid", .string("k"))).verify(token) }
    }
}
