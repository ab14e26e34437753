// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// A server's texts, as they are compared and shown.
@Suite struct WireTextTests {
    /// Two issuers may look the same and be equal to Swift, and still be different.
    @Test func comparesBytes() {
        let (composed, decomposed) = ("https://caf\u{E9}.example", "https://cafe\u{301}.example")
        #expect(composed == decomposed)
        #expect(!WireText.areSame(composed, decomposed))
        #expect(WireText.areSame(composed, composed))
        #expect(!WireText.areSame("https://h", "https://h/") && !WireText.areSame("https://h", "https://H"))
    }

    /// RFC 3986 §3.1.
    @Test(arguments: [
        ("urn:a", true), ("https://h/a?b", true), ("X-1.+y:z", true), ("", false), (":", false), ("a", false),
        ("a:", false), ("1a:b", false), ("-a:b", false), ("a_b:c", false), ("a b:c", false), ("a:b c", false),
        ("\u{E9}:a", false), ("a:\u{E9}", false), ("a:b\n", false), ("/a:b", false),
    ])
    func knowsAnAbsoluteURI(_ text: String, _ isOne: Bool) {
        #expect(WireText.isAbsoluteURI(text) == isOne)
    }

    /// Escape sequences, bidirectional overrides, forged lines and invisible characters.
    @Test(
        arguments: [
            ("a\u{1B}[31mb", "a[31mb"), ("a\u{202E}b\u{200B}c", "abc"), ("one\r\ntwo\u{2028}three", "one two three"),
            ("\u{9B}31m\u{7F}", "31m"), ("\n\nfirst", "first"), ("plain \u{E9}", "plain \u{E9}"),
        ]
    )
    func showsOneLineThatATerminalDoesNothingWith(text: String, shown: String) {
        #expect(WireText.clean(text) == shown)
    }

    @Test func keepsThousandCharacters() {
        #expect(WireText.clean(String(repeating: "x", count: 5000)).count == 1000)
    }
}
