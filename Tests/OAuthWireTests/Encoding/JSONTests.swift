// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct JSONTests {
    @Test func keepsOrderUnknownMembersAndNumberText() throws {
        let source = #"{"z":1.50,"a":[true,false,null,-0,1E+2],"unknown":{"b":{}},"s":"é\u0001"}"#
        let object = try json(source)
        #expect(object.members.map(\.name) == ["z", "a", "unknown", "s"])
        #expect(object["z"] == .number("1.50"))
        #expect(text(object) == source)
    }

    @Test func ignoresWhiteSpaceAroundTokens() throws {
        #expect(text(try json(" \r\n\t{ \"a\" :\t[ 1 , { } , [ ] ] }\n")) == #"{"a":[1,{},[]]}"#)
    }

    @Test func readsEveryEscape() throws {
        let object = try json(#"{"\u0061":"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\u0000x"}"#)
        #expect(object.string("a") == "\"\\/\u{8}\u{C}\n\r\té😀\u{0}x")
        #expect(try json(text(object)) == object)
    }

    @Test(arguments: [
        (#""#, JSONError.Reason.unexpectedEnd, 0),
        (#"{"#, .unexpectedEnd, 1),
        (#"{"a"#, .unexpectedEnd, 3),
        (#"{"a":"x\"#, .unexpectedEnd, 8),
        (#"[]"#, .notAnObject, 0),
        (#""a""#, .notAnObject, 0),
        (#"null"#, .notAnObject, 0),
        (#"{} x"#, .trailingBytes, 3),
        (#"{}{}"#, .trailingBytes, 2),
        (#"{"a":1,"b":2,"a":3}"#, .duplicateName, 13),
        (#"{"a":{"b":1,"\u0062":2}}"#, .duplicateName, 12),
        (#"{"a":"\uD800"}"#, .loneSurrogate, 6),
        (#"{"a":"\uD800\u0041"}"#, .loneSurrogate, 6),
        (#"{"a":"\uDC00"}"#, .loneSurrogate, 6),
        (#"{"a":"\x"}"#, .invalidEscape, 6),
        (#"{"a":"\u00g0"}"#, .invalidEscape, 10),
        ("{\"a\":\"\n\"}", .controlCharacter, 6),
        ("{\"a\":\"\\n\u{1F}\"}", .controlCharacter, 8),
        (#"{"a":01}"#, .unexpectedByte, 6),
        (#"{"a":+1}"#, .unexpectedByte, 5),
        (#"{"a":-}"#, .invalidNumber, 6),
        (#"{"a":1.}"#, .invalidNumber, 7),
        (#"{"a":1e}"#, .invalidNumber, 7),
        (#"{"a":.5}"#, .unexpectedByte, 5),
        (#"{"a":NaN}"#, .unexpectedByte, 5),
        (#"{"a":nul}"#, .unexpectedByte, 8),
        (#"{"a":1,}"#, .unexpectedByte, 7),
        (#"{"a":[1,]}"#, .unexpectedByte, 8),
        (#"{"a" 1}"#, .unexpectedByte, 5),
        (#"{a:1}"#, .unexpectedByte, 1),
        (#"{'a':1}"#, .unexpectedByte, 1),
        (#"{"a":1/**/}"#, .unexpectedByte, 6),
        ("\u{FEFF}{}", .byteOrderMark, 0),
    ])
    func refusesWithReasonAndOffset(source: String, reason: JSONError.Reason, offset: Int) {
        let error = #expect(throws: JSONError.self) { try json(source) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }

    @Test(arguments: [
        [0xFF], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3],
    ])
    func refusesInvalidUTF8(bytes: [UInt8]) {
        for source in [bytes, Array(#"\n"#.utf8) + bytes] {  // without and with an escape before it
            let error = #expect(throws: JSONError.self) {
                try JSONObject(parsing: Array(#"{"a":""#.utf8) + source + Array(#""}"#.utf8))
            }
            #expect(error?.reason == .invalidUTF8)
        }
    }

    /// RFC 8259 §8.1.
    @Test func readsAnAnswerWithAByteOrderMark() throws {
        #expect(try JSONObject(received: Array("\u{FEFF}{\"a\":1}".utf8)) == json(#"{"a":1}"#))
        for source in ["\u{FEFF}\u{FEFF}{}", "{\u{FEFF}}", " \u{FEFF}{}"] {
            #expect(throws: JSONError.self) { try JSONObject(received: Array(source.utf8)) }
        }
    }

    @Test func repairsTextOfAnAnswerOnlyIfAsked() throws {
        let bytes = Array(#"{"a":"x"#.utf8) + [0xE9] + Array(#""}"#.utf8)
        #expect(try JSONObject(received: bytes, repairsText: true).string("a") == "x\u{FFFD}")
        #expect(throws: JSONError.self) { try JSONObject(received: bytes) }
    }

    @Test func limitsTheDepth() throws {
        let deepest = #"{"a":"# + String(repeating: "[", count: 15) + String(repeating: "]", count: 15) + "}"
        #expect(try json(deepest).array("a")?.count == 1)
        let tooDeep = #"{"a":["# + deepest + "]}"
        #expect(throws: JSONError(reason: .tooDeep, offset: 24)) { try json(tooDeep) }
        #expect(throws: JSONError(reason: .tooDeep, offset: 5)) {
            try JSONObject(parsing: Array(#"{"a":{}}"#.utf8), maximumDepth: 1)
        }
        #expect(throws: JSONError.self) { try json(#"{"a":"# + String(repeating: "[", count: 1_000_000)) }
    }

    @Test func findsDuplicatesAmongManyMembers() throws {
        let members = (0..<5_000).map { #""m\#($0)":0"# }.joined(separator: ",")
        #expect(try json("{\(members)}").members.count == 5_000)
        let error = #expect(throws: JSONError.self) { try json("{\(members),\"m4000\":1}") }
        #expect(error?.reason == .duplicateName)
    }

    @Test func errorsDoNotQuoteTheText() {
        let error = #expect(throws: JSONError.self) { try json(#"{"secret-token":hunter2}"#) }
        #expect(error?.description == "an unexpected byte at byte 16")
    }

    @Test func settingKeepsThePlaceAndNilRemoves() throws {
        var object = try json(#"{"a":1,"b":2,"c":3}"#)
        object["b"] = .string("x")
        object["a"] = nil
        object["d"] = .integer(4)
        object["none"] = nil
        #expect(text(object) == #"{"b":"x","c":3,"d":4}"#)
    }

    @Test(arguments: [
        ("3600", 3_600), ("\"3600\"", 3_600), ("3600.0", 3_600), ("3.6e3", 3_600), ("-5", -5), ("0", 0),
        ("9223372036854775807", Int.max),
    ])
    func readsWholeNumbers(source: String, expected: Int) throws {
        #expect(try json("{\"a\":\(source)}").integer("a") == expected)
    }

    @Test(arguments: [
        "1.5", "1e400", "9223372036854775808", "\"\"", "\"+1\"", "\"1.0\"", "\" 1\"", "true", "null", "[1]",
    ])
    func refusesWhatIsNoWholeNumber(source: String) throws {
        #expect(try json("{\"a\":\(source)}").integer("a") == nil)
    }

    @Test func accessorsGiveNilForAnotherType() throws {
        let object = try json(#"{"s":"x","n":1,"b":true,"o":{"i":1},"a":["x"],"m":["x",1],"t":1700000000.9}"#)
        #expect(object.string("s") == "x")
        #expect(object.string("n") == nil)
        #expect(object.bool("b") == true)
        #expect(object.bool("s") == nil)
        #expect(object.object("o")?.integer("i") == 1)
        #expect(object.object("a") == nil)
        #expect(object.array("a") == [.string("x")])
        #expect(object.array("o") == nil)
        #expect(object.strings("a") == ["x"])
        #expect(object.strings("m") == nil)
        #expect(object.roundedDown("t") == 1_700_000_000)
        #expect(object.string("absent") == nil)
    }
}
