// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CryptoExtras
import OAuthWire
import Testing

/// The key and the statements that it signs, against what Python's `cryptography` computes.
@Suite struct SignedHTTPRequestTests {
    private static let request = SignedHTTPRequest(
        accessToken: "the-token",
        method: "POST",
        host: "api.example.com:8443",
        path: "/v1/a%2Fb",
        query: "x=1&y=%20z",
        nonce: "server+nonce==",
        timestamp: 1_764_104_400
    )

    private func parts(_ request: SignedHTTPRequest) throws -> [String] {
        try request.signed(with: PossessionKeyExample.key()).split(separator: ".").map(String.init)
    }

    private func claims(_ request: SignedHTTPRequest) throws -> JSONObject {
        try JSONObject(parsing: try #require(Base64URL.decode(try parts(request)[1])))
    }

    /// RFC 7638 §3
    @Test func namesTheKeyByItsThumbprint() throws {
        let key = try PossessionKeyExample.key()
        #expect(String(decoding: key.publicKey.serialized(), as: UTF8.self) == PossessionKeyExample.publicKey)
        #expect(key.keyID == PossessionKeyExample.keyID)
        let form = TokenRequestMessage.proofOfPossession(keyID: key.keyID)
        #expect(form.map(\.0) == ["token_type", "req_cnf"])
        #expect(form.map(\.1) == ["pop", PossessionKeyExample.confirmation])
    }

    @Test func writesTheStatementByteForByte() throws {
        let parts = try parts(Self.request)
        let texts = try parts.prefix(2).map { String(decoding: try #require(Base64URL.decode($0)), as: UTF8.self) }
        #expect(texts == [PossessionKeyExample.header, PossessionKeyExample.claims])
    }

    @Test func signsLikeOthers() throws {
        let key = try PossessionKeyExample.key()
        let verifier = try #require(JSONWebKey(key.publicKey))
        let parts = try parts(Self.request)
        let text = Array("\(parts[0]).\(parts[1])".utf8)
        let own = try #require(Base64URL.decode(parts[2]))
        let foreign = try #require(Base64URL.decode(PossessionKeyExample.signature))
        #expect(verifier.verifies(own, of: text, with: .ps256) && verifier.verifies(foreign, of: text, with: .ps256))
        #expect(!verifier.verifies(own, of: text + [0], with: .ps256))
        #expect(!verifier.verifies(own, of: text, with: .rs256))
    }

    /// draft-ietf-oauth-signed-http-request-03 §3 and §7.5
    @Test(arguments: [
        (nil, #"[[],"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"]"#),
        ("", #"[[],"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"]"#),
        ("a=1", #"[["a"],"wi_qXXQo5c9H72NUyXySI8ldbc3D4NIwD_eQVrH_PYU"]"#),
        ("b=2&a=1&b=3", #"[["a"],"wi_qXXQo5c9H72NUyXySI8ldbc3D4NIwD_eQVrH_PYU"]"#),
        ("flag&=x&c=&d=1=2&a=1&", #"[["a"],"wi_qXXQo5c9H72NUyXySI8ldbc3D4NIwD_eQVrH_PYU"]"#),
        // The sign and the accent are one character, but the API reads bytes.
        ("a=1&\u{301}b", #"[["a"],"wi_qXXQo5c9H72NUyXySI8ldbc3D4NIwD_eQVrH_PYU"]"#),
        ("a=&a=1", #"[[],"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"]"#),
    ])
    func coversTheParametersThatOccurOnce(query: String?, expected: String) throws {
        var request = Self.request
        request.query = query
        let claim = JSONObject([("q", try #require(try claims(request)["q"]))])
        #expect(String(decoding: claim.serialized(), as: UTF8.self) == #"{"q":\#(expected)}"#)
    }

    @Test func leavesOutANonceThatTheServerDidNotGive() throws {
        var request = Self.request
        request.nonce = nil
        #expect(try claims(request).members.map(\.name) == ["at", "ts", "m", "u", "p", "q", "cnf"])
    }

    @Test func keepsANewKey() throws {
        let key = try PossessionKey()
        let again = try PossessionKey(pkcs8: key.pkcs8)
        #expect(again.keyID == key.keyID && key.keyID != PossessionKeyExample.keyID)
        #expect("\(key)" == "PossessionKey(\(key.keyID))")
        let text = Array("text".utf8)
        #expect(try JSONWebKey(key.publicKey)?.verifies(again.signature(of: text), of: text, with: .ps256) == true)
    }

    @Test func refusesOtherKeys() throws {
        #expect(throws: (any Error).self) { try PossessionKey(pkcs8: []) }
        #expect(throws: (any Error).self) { try PossessionKey(pkcs8: Array("{}".utf8)) }
        let short = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024)).pkcs8DERRepresentation
        #expect(throws: (any Error).self) { try PossessionKey(pkcs8: Array(short)) }
    }
}
