// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct SecureRandomTests {
    @Test(arguments: [0, 1, 7, 8, 9, 32, 1_000])
    func givesAsManyBytesAsAsked(count: Int) {
        #expect(SecureRandom.bytes(count).count == count)
    }

    @Test func tokensAreLongAndDiffer() {
        let tokens = (0..<100).map { _ in SecureRandom.token() }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { Base64URL.decode($0)?.count == 32 && $0.utf8.count == 43 })
        #expect(SecureRandom.token(bytes: 16).utf8.count == 22)
    }

    @Test func everyBitIsUsed() {
        let bytes = SecureRandom.bytes(16_384)
        #expect(Set(bytes).count == 256)
    }

    @Test(arguments: [
        ("", "", true), ("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false), ("", "a", false),
        ("\u{E9}", "e\u{301}", false),
    ])
    func comparesBytes(first: String, second: String, expected: Bool) {
        #expect(constantTimeEquals(first, second) == expected)
    }
}
