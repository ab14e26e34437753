// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct ASCIITests {
    /// The edges of each kind: visible, printable, control, text of a field, letter or digit.
    @Test(
        arguments: [
            (0x00, "--c--"), (0x08, "--c--"), (0x09, "--cf-"), (0x0A, "--c--"), (0x0D, "--c--"), (0x1F, "--c--"),
            (0x20, "-p-f-"), (0x21, "vp-f-"), (0x2F, "vp-f-"), (0x30, "vp-fa"), (0x39, "vp-fa"), (0x3A, "vp-f-"),
            (0x40, "vp-f-"), (0x41, "vp-fa"), (0x5A, "vp-fa"), (0x5B, "vp-f-"), (0x60, "vp-f-"), (0x61, "vp-fa"),
            (0x7A, "vp-fa"), (0x7B, "vp-f-"), (0x7E, "vp-f-"), (0x7F, "--c--"), (0x80, "---f-"), (0xFF, "---f-"),
        ] as [(UInt8, String)]
    )
    func tellsTheKindsOfBytesApart(byte: UInt8, kinds: String) {
        let found: [(Bool, String)] = [
            (byte.isVisible, "v"), (byte.isPrintable, "p"), (byte.isControl, "c"), (byte.isFieldText, "f"),
            (byte.isAlphanumeric, "a"),
        ]
        #expect(found.map { $0.0 ? $0.1 : "-" }.joined() == kinds)
    }

    @Test(
        arguments: [
            ("", true, true, false, true), ("a-b", true, true, false, true), ("a b", false, true, false, false),
            ("a\tb", false, false, true, false), ("a\u{7F}", false, false, true, false),
            ("é", false, false, false, false), ("a/b", true, true, false, false),
        ] as [(String, Bool, Bool, Bool, Bool)]
    )
    func judgesTexts(_ text: String, _ visible: Bool, _ printable: Bool, _ controls: Bool, _ alphanumeric: Bool) {
        #expect(text.utf8.areVisible == visible && text.utf8.arePrintable == printable)
        #expect(text.utf8.hasControls == controls && text.utf8.areAlphanumeric(or: "-") == alphanumeric)
    }

    @Test(
        arguments: [
            (Int64.min, 0), (-1, 0), (0, 0), (1_700_000_000, 1_700_000_000), (253_402_300_799, 253_402_300_799),
            (253_402_300_800, 253_402_300_799), (.max, 253_402_300_799),
        ] as [(Int64, Int64)]
    )
    func limitsSecondsToTheYear9999(seconds: Int64, nearest: Int64) {
        #expect(UnixSeconds.nearest(to: seconds) == nearest)
        #expect(UnixSeconds.all.contains(seconds) == (seconds == nearest))
        #expect(UnixSeconds.nearest(to: UInt64.max) == UnixSeconds.last)
    }
}
