// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DesktopKit

@Suite struct LogViewTests {
    @Test(arguments: [
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("a\0b", "a\u{FFFD}b"),
        ("admin\u{202E}gnp.exe", "admin\u{FFFD}gnp.exe"),
        ("\u{2066}a\u{2069}\u{7}", "\u{FFFD}a\u{FFFD}\u{FFFD}"),
        ("王 Zoë 👩‍👧", "王 Zoë 👩‍👧"),
    ])
    func showsEveryCharacterAndObeysNone(_ text: String, _ expected: String) {
        #expect(LogView.shown(text) == expected)
    }

    @Test func cutsOffWhatIsTooLong() {
        let shown = LogView.shown(String(repeating: "x", count: 2 * LogView.limit))
        #expect(shown.unicodeScalars.count == LogView.limit + 1 && shown.hasSuffix("x…"))
    }
}
