// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct FormTests {
    @Test func encodesEverythingButUnreservedCharacters() {
        let items = [("scope", "openid profile"), ("a+b", "1&2=3%"), ("ü", "~-._"), ("empty", "")]
        #expect(FormURLEncoded.encode(items) == "scope=openid%20profile&a%2Bb=1%262%3D3%25&%C3%BC=~-._&empty=")
    }

    /// RFC 6749 appendix B.
    @Test func encodesTheExampleOfTheSpecification() throws {
        let value = " %&+\u{A3}\u{20AC}"
        #expect(FormURLEncoded.encode([("v", value)]) == "v=%20%25%26%2B%C2%A3%E2%82%AC")
        #expect(lines(try FormURLEncoded.decode("v=+%25%26%2B%C2%A3%E2%82%AC")) == ["v=\(value)"])
    }

    @Test func decodesInOrderWithRepetitions() throws {
        let items = try FormURLEncoded.decode("a=1&b=x+y%20z&a=2&flag&&c=p=q&=v&n+%61=1")
        #expect(lines(items) == ["a=1", "b=x y z", "a=2", "flag=", "c=p=q", "=v", "n a=1"])
        #expect(try FormURLEncoded.decode("").isEmpty)
    }

    @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%+1", "%C3=1", "a=%FF", "a=%ED%A0%80", "a=%C0%AF"])
    func refusesBrokenEscapesAndUTF8(source: String) {
        #expect(throws: WireError.malformed("form: percent encoding")) { try FormURLEncoded.decode(source) }
    }

    /// Of a browser's answer, what can be read is read.
    @Test(arguments: [
        ("code=a&x=%zz&state=s", ["code=a", "x=%zz", "state=s"]),
        ("e=Acc%E8s+r%C3%A9&code=a", ["e=Acc\u{FFFD}s ré", "code=a"]),
        ("code=%FF&state=s", ["state=s"]), ("c%6Fde=%FF&x", ["x="]), ("%FF=1&state=%", ["\u{FFFD}=1"]),
        ("x=%4&y=%", ["x=%4", "y=%"]),
        ("", []), ("code=a%2Bb&code=c", ["code=a+b", "code=c"]),
    ])
    func readsAnAnswerAsFarAsItCanBeRead(source: String, expected: [String]) throws {
        #expect(lines(try FormURLEncoded.decodeAnswer(source, strict: ["code", "state"])) == expected)
    }

    @Test func limitsAnAnswer() {
        for source in [String(repeating: "a&", count: 101), "a=" + String(repeating: "b", count: 65_536)] {
            #expect(throws: WireError.self) { try FormURLEncoded.decodeAnswer(source, strict: []) }
        }
    }

    @Test func limitsLengthAndNumber() throws {
        #expect(try FormURLEncoded.decode("a=1&b=2", maximumItems: 2, maximumLength: 7).count == 2)
        #expect(throws: WireError.self) { try FormURLEncoded.decode("a=1&b=2&c", maximumItems: 2) }
        #expect(throws: WireError.self) { try FormURLEncoded.decode("a=1&b=23", maximumLength: 7) }
    }

    @Test func everyTextSurvivesARoundTrip() throws {
        var random = SeededGenerator(state: 7)
        for _ in 0..<200 {
            let scalars = (0..<Int.random(in: 0...20, using: &random)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...0x2FFF, using: &random))
            }
            let value = String(String.UnicodeScalarView(scalars))
            let items = try FormURLEncoded.decode(FormURLEncoded.encode([(value, value), ("x", value)]))
            #expect(lines(items) == lines([(value, value), ("x", value)]))
        }
    }

    @Test(arguments: [
        ("https://h/a", "https://h/a?x=1%202"),
        ("https://h/a?", "https://h/a?x=1%202"),
        ("https://h/a?p=b2c_1%2Bx", "https://h/a?p=b2c_1%2Bx&x=1%202"),
        ("https://h/a?p=B2C_1&&q=%7e+'", "https://h/a?p=B2C_1&&q=%7e+'&x=1%202"),
        ("https://h/a?p=1&", "https://h/a?p=1&x=1%202"),
    ])
    func appendingKeepsTheQueryByteForByte(endpoint: String, expected: String) throws {
        #expect(try FormURLEncoded.appending([("x", "1 2")], to: endpoint) == expected)
        #expect(try FormURLEncoded.appending([], to: endpoint) == endpoint)
    }

    @Test func appendingRefusesFragments() {
        #expect(throws: WireError.malformed("endpoint: fragment")) {
            try FormURLEncoded.appending([("x", "1")], to: "https://h/a?b#c")
        }
    }
}
