// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

@Suite struct TokenAndKeyTests {
    private func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    @Test func takesATokenApart() throws {
        let compact = "\(encoded(#"{"alg":"RS256","kid":"k","typ":"JWT"}"#)).\(encoded(#"{"sub":"s"}"#)).AQID"
        let token = try JSONWebToken(compact: compact)
        #expect(token.algorithm == "RS256")
        #expect(token.signatureAlgorithm == .rs256)
        #expect(token.keyID == "k")
        #expect(token.header.string("typ") == "JWT")
        #expect(token.claims.string("sub") == "s")
        #expect(token.signature == [1, 2, 3])
        #expect(token.signingInput == Array(compact.utf8.dropLast(5)))
    }

    @Test(arguments: [
        ("", "token: segments"), ("a", "token: segments"), ("a.b", "token: segments"),
        ("e30.e30..", "token: segments"), ("e30.e30.AQ.AQ.AQ", "token: segments"),
        ("e30=.e30.", "token: base64url"), ("e30.e30.A", "token: base64url"), ("e30.e31.", "token: base64url"),
        (" e30.e30.", "token: base64url"), ("W10.e30.", "token: header"), (".e30.", "token: header"),
        ("eyJhbGciOiJhIn0.W10.", "token: claims"), ("eyJhbGciOiJhIn0..", "token: claims"),
    ])
    func refusesMalformedTokens(compact: String, part: String) {
        #expect(throws: WireError.malformed(part)) { try JSONWebToken(compact: compact) }
    }

    @Test(arguments: [
        (#"{}"#, WireError.missing("alg")), (#"{"alg":1}"#, .wrongType("alg")),
        (#"{"alg":"RS256","kid":1}"#, .wrongType("kid")),
        (#"{"alg":"RS256","crit":["b64"],"b64":false}"#, .malformed("token: crit")),
        (#"{"alg":"RS256","crit":[]}"#, .malformed("token: crit")),
        (#"{"alg":"RS256","alg":"none"}"#, .malformed("token: header")),
    ])
    func refusesHeadersItDoesNotUnderstand(header: String, expected: WireError) {
        #expect(throws: expected) { try JSONWebToken(compact: "\(encoded(header)).e30.") }
    }

    @Test func refusesClaimsThatOccurTwice() {
        let claims = encoded(#"{"sub":"a","sub":"b"}"#)
        #expect(throws: WireError.malformed("token: claims")) {
            try JSONWebToken(compact: "\(encoded(#"{"alg":"RS256"}"#)).\(claims).")
        }
    }

    @Test func limitsTheLength() throws {
        let header = encoded(#"{"alg":"RS256"}"#)
        let signature = String(repeating: "A", count: JSONWebToken.maximumLength - header.utf8.count - 5)
        #expect(try JSONWebToken(compact: "\(header).e30.\(signature)").keyID == nil)
        #expect(throws: WireError.malformed("token: longer than 65536 bytes")) {
            try JSONWebToken(compact: "\(header).e30.\(signature)AAAA")
        }
    }

    @Test func skipsKeysItCannotUse() throws {
        let rsa = try TestKeys.published(for: .rs256)
        let p256 = try TestKeys.published(for: .es256)
        let edwards = try TestKeys.published(for: .edDSA)
        let keys = try keySet(
            JSONObject(),
            json(#"{"kty":"oct","k":"AAAA"}"#),
            json(#"{"kty":"XYZ"}"#),
            json(#"{"kty":1}"#),
            rsa.with("use", .string("enc")),
            rsa.with("use", .integer(1)),
            rsa.with("key_ops", .strings(["encrypt"])),
            rsa.with("n", nil),
            rsa.with("n", .string("not base64!")),
            rsa.with("e", .string("")),
            rsa.with("e", .string("AQ")),
            p256.with("crv", .string("secp256k1")),
            p256.with("crv", .string("P-384")),
            p256.with("y", p256["x"]),
            p256.with("x", .string("AA")),
            edwards.with("x", .string("AAAA")),
            edwards.with("crv", .string("X25519"))
        )
        #expect(keys.keys.isEmpty)
        // RFC 7517 §5: a broken key beside the right one does not matter.
        let beside = JSONValue.array([.number("1"), .null, .string("key"), .object(rsa.with("kid", .number("7")))])
        #expect(try JSONWebKeySet(JSONObject([("keys", beside)])).keys.count == 1)
        let usable = try keySet(
            rsa.with("use", .string("sig")),
            p256.with("key_ops", .strings(["verify"])),
            edwards,
            JSONObject()
        )
        #expect(usable.keys.count == 3)
    }

    /// Keys as UAA and older versions of IdentityServer publish them.
    @Test(arguments: [SignatureAlgorithm.rs256, .es256, .es512, .edDSA], [false, true])
    func readsKeysInStandardBase64AndWithPadding(_ algorithm: SignatureAlgorithm, usesStandardAlphabet: Bool) throws {
        var key = try TestKeys.published(for: algorithm)
        for name in ["n", "e", "x", "y"] {
            guard let text = key.string(name) else { continue }
            let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            let standard = padded.replacing("-", with: "+").replacing("_", with: "/")
            key = key.with(name, .string(usesStandardAlphabet ? standard : padded))
        }
        let token = try JSONWebToken(compact: TestKeys.token(algorithm))
        #expect(try keySet(key).verify(token) == algorithm)
    }

    /// Keycloak has published keys whose coordinates lost the zeros at their beginning, and oxAuth keys with one more.
    @Test(arguments: [SignatureAlgorithm.es256, .es384, .es512], ["x", "y"])
    func readsCoordinatesOfAnotherLength(_ algorithm: SignatureAlgorithm, _ name: String) throws {
        let key = try TestKeys.published(for: algorithm)
        let bytes = try #require(key.string(name).flatMap { Base64URL.decode(Substring($0)) })
        let token = try JSONWebToken(compact: TestKeys.token(algorithm))
        for spelled in [Array(bytes.drop { $0 == 0 }), [0] + bytes, [0, 0] + bytes] {
            #expect(try keySet(key.with(name, .string(Base64URL.encode(spelled)))).verify(token) == algorithm)
        }
        // Cut elsewhere, the point is not on the curve.
        for broken in [Array(bytes.dropLast()), bytes + [0], [1] + bytes, []] {
            #expect(try keySet(key.with(name, .string(Base64URL.encode(broken)))).keys.isEmpty)
        }
    }

    @Test func tellsAnEncryptedTokenByItsParts() {
        #expect(JSONWebToken.isEncrypted("e30.AA.AA.AA.AA"))
        for text in ["e30.e30.AA", "e30.AA.AA.AA", "e30.AA.AA.AA.AA.AA", ""] {
            #expect(!JSONWebToken.isEncrypted(text))
        }
    }

    @Test func rsaKeysHave2048To8192Bits() throws {
        func isUsable(bits: Int, leadingZeros: Int = 0) -> Bool {
            var modulus = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
            modulus[0] = UInt8((1 << ((bits - 1) % 8 + 1)) - 1)
            return JSONWebKey(TestKeys.rsaKey(modulus: [UInt8](repeating: 0, count: leadingZeros) + modulus)) != nil
        }
        #expect(!isUsable(bits: 1_024))
        #expect(!isUsable(bits: 2_047))
        #expect(isUsable(bits: 2_048))
        #expect(isUsable(bits: 2_048, leadingZeros: 1))
        #expect(isUsable(bits: 8_192))
        #expect(!isUsable(bits: 8_193))
        #expect(!isUsable(bits: 100_000))
        #expect(!isUsable(bits: 1_024, leadingZeros: 128))
    }

    @Test func refusesSetsThatAreNone() throws {
        #expect(throws: WireError.missing("keys")) { try JSONWebKeySet(json("{}")) }
        #expect(throws: WireError.wrongType("keys")) { try JSONWebKeySet(json(#"{"keys":{}}"#)) }
        let many = (0...100).map { _ in "{}" }.joined(separator: ",")
        #expect(throws: WireError.malformed("keys: too many")) { try JSONWebKeySet(json(#"{"keys":[\#(many)]}"#)) }
        #expect(try JSONWebKeySet(json(#"{"keys":[]}"#)).keys.isEmpty)
    }
}
