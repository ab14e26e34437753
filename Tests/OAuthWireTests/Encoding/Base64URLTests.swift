// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648 §10, without padding, and RFC 7515 appendix C.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func encodesAndDecodesTheExamples(plain: String, encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test func usesTheSafeAlphabet() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test(arguments: [
        "Zg==", "Zm8=", "Z", "Zm9vY", "Zh", "Zm9", "Z g", "Zg\n", "Zm+v", "Zm/v", "Zmé", "Zm9v.", "Zg%3D",
    ])
    func strictRefusesEverythingButTheCanonicalText(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["A-z_4ME", "A+z/4ME=", "A-z_4ME=", "A+z/4ME", "A+z/4MF="])
    func lenientAcceptsBothAlphabetsAndPadding(text: String) {
        #expect(Base64URL.decodeLenient(text) == [3, 236, 255, 224, 193])
    }

    @Test(arguments: ["Z===", "Zg=g", "=", "====", "Z g", "Zm9v\n", "Z"])
    func lenientStillRefusesRubbish(text: String) {
        #expect((Base64URL.decodeLenient(text) ?? []).isEmpty)
    }

    @Test func everyLengthSurvivesARoundTrip() {
        var random = SeededGenerator(state: 1)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }
}
