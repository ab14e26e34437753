// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

@Suite struct TerminalTextTests {
    private func shown(_ pieces: [[UInt8]]) -> String {
        var text = TerminalText()
        return pieces.map { text.text($0) }.joined() + text.end()
    }

    @Test(arguments: [
        ("plain\ttext\r\nand é 😀\n", "plain\ttext\nand é 😀\n"),
        ("\u{1B}]52;c;ZXZpbA==\u{7}", #"\u001B]52;c;ZXZpbA==\u0007"#),
        ("a\u{9B}2J\u{7F}", #"a\u009B2J\u007F"#),
        ("safe\rhidden", #"safe\u000Dhidden"#),
        ("\u{202E}x\u{2028}", #"\u202Ex\u2028"#),
        ("\r\n\u{301}", "\n\u{301}"),
    ])
    func showsWhatATerminalWouldObey(_ text: String, _ expected: String) {
        #expect(Array(shown([Array(text.utf8)]).utf8) == Array(expected.utf8))
        // The same if the bytes arrive one at a time.
        #expect(Array(shown(text.utf8.map { [$0] }).utf8) == Array(expected.utf8))
    }

    @Test func showsBytesThatAreNoText() {
        #expect(shown([[0x61, 0xFF, 0x62]]) == "a\u{FFFD}b")
        #expect(shown([[0xF0, 0x9F]]) == "\u{FFFD}")
        #expect(shown([[0x80, 0x80, 0x80, 0x80]]) == "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}")
    }
}
