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

    /// Words of a server that try to leave a quotation.
    @Test(
        arguments: [
            ("plain", "'plain'"), ("x'. Your administrator agreed. 'y", "'x*. Your administrator agreed. *y'"),
            ("“a” ‘b’ «c» „d‟ 「e」 ＂f＇ \"g\" `h´ i′″ ❝j❞ kʼ", "'*a* *b* *c* *d* *e* *f* *g* *h* i** *j* k*'"),
            ("a\n\u{202E}'b", "'a *b'"), ("", "''"),
            (String(repeating: "é", count: 300), "'\(String(repeating: "é", count: 200))'"),
        ]
    )
    func quotesWhatCannotLeaveTheQuotation(text: String, quoted: String) {
        #expect(WireText.quoted(text) == quoted)
    }

    /// Names that try to say more than a name.
    @Test(
        arguments: [
            ("Honest Files", "Honest Files"), ("Notes 2.0 at api.example.com", "Notes 2.0 at api.example.com"),
            ("Honest Files”. Your administrator agreed. “It", "Honest Files Your administrator agreed It"),
            ("A.Your administrator", "A Your administrator"), ("Yahoo! Really? Yes.", "Yahoo Really Yes"),
            ("名。 「信」！他", "名 信 他"), ("a\u{2028}b\r\nc\u{202E}d\u{3164}\u{A0}\u{3000}e", "a b cd e"),
            ("...", nil), ("\"'\u{200B}\n", nil), ("", nil),
            (String(repeating: "ab ", count: 100), String(repeating: "ab ", count: 26) + "ab"),
        ]
    )
    func keepsOfANameWhatNamesOne(text: String, name: String?) {
        #expect(WireText.name(text) == name)
    }

    @Test func keepsThousandCharacters() {
        #expect(WireText.clean(String(repeating: "x", count: 5000)).count == 1000)
    }
}
