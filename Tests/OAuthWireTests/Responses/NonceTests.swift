// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// The nonces that an API gives for signed requests.
@Suite struct NonceTests {
    @Test(arguments: [
        (#"PoP nonce="abc""#, "abc"), ("pop nonce=abc", "abc"),
        (#"Bearer realm="x", PoP nonce="a=b+/", error="e""#, "a=b+/"),
        (#"PoP nonce="first", PoP nonce="second""#, "first"), (#"PoP nonce="a\"b""#, #"a"b"#),
        (#"Bearer nonce="abc""#, nil), (#"DPoP nonce="abc""#, nil), ("PoP", nil), (#"PoP nonce="""#, nil),
        (#"PoP nonce="a", nonce="b""#, nil), (#"PoP nonce="a b""#, nil), ("PoP nonce=\"a\tb\"", nil),
        ("PoP nonce=\"a\u{0}b\"", nil), ("PoP nonce=\"a\r\nX: y\"", nil), (#"PoP nonce="ä""#, nil),
        ("PoP nonce=\"\(String(repeating: "n", count: 2049))\"", nil),
        ("PoP nonce=\"\(String(repeating: "n", count: 10_240))\"", nil),
        ("PoP nonce=\"\(String(repeating: "n", count: 2048))\"", String(repeating: "n", count: 2048)),
    ])
    func readsTheChallenge(field: String, expected: String?) {
        #expect(AuthenticationChallenge.parse([field]).lazy.compactMap(\.nonce).first == expected)
    }

    /// RFC 9110 §11.6.3
    @Test(arguments: [
        ([#"nextnonce="abc""#], "abc"), (["NextNonce=abc, qop=auth"], "abc"), (["x", #"nextnonce="b""#], "b"),
        ([], nil), ([""], nil), (["nextnonce"], nil), ([#"nextnonce="a", nextnonce="b""#], nil),
        ([#"PoP nextnonce="a""#], nil), ([#"nextnonce="a b""#], nil), ([#"nextnonce="a" x"#], nil),
        (["nextnonce=\"\(String(repeating: "n", count: 10_240))\""], nil),
        (["a=\"\(String(repeating: "n", count: 65_536))\"", "nextnonce=b"], nil),
    ])
    func readsTheInformation(fields: [String], expected: String?) {
        #expect(AuthenticationChallenge.nextNonce(in: fields) == expected)
    }
}
