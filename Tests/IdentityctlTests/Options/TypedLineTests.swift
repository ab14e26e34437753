// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

@Suite struct TypedLineTests {
    @Test(arguments: [
        ("abc\n", "abc", TypedLine.Change.ended), ("abc\r", "abc", .ended), ("ab\u{7F}\u{8}\u{8}\u{8}x\n", "x", .ended),
        ("ab\u{15}c\n", "c", .ended), ("\u{4}", "", .endOfInput), ("a\u{4}", "a", .none),
        ("a\u{1B}b\u{0}", "ab", .none),
        ("ü", "ü", .none), ("\u{1B}[200~http://a?b\u{1B}[201~\r", "http://a?b", .ended),
        ("a\u{1B}[D\u{1B}OCb\u{1B}[1;5D\n", "ab", .ended), ("\u{1B}\n", "", .ended), ("\u{1B}[\n", "", .ended),
    ])
    func understandsWhatIsTyped(keys: String, text: String, last: TypedLine.Change) {
        var line = TypedLine()
        var change = TypedLine.Change.none
        for byte in keys.utf8 { change = line.type(byte) }
        #expect(String(decoding: line.bytes, as: UTF8.self) == text)
        #expect(change == last)
    }
}
