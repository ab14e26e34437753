// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire
import Testing

@testable import identityctl

@Suite struct MCPMessageTests {
    private func message(_ text: String) throws -> MCPMessage { try MCPMessage(Array(text.utf8)) }

    @Test func isLookedThroughWithoutBeingParsed() throws {
        let request = try message(
            #"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","deep":[[{}],"]}"]}}"#
        )
        #expect(request.id == .string("a") && request.method == "tools/call" && request.isRequest)
        #expect(try request.members.members("params")?.value("name")?.string == "x")
        let answer = try message(#"{"id":7,"result":{"id":8,"method":"no"}}"#)
        #expect(answer.id == .number("7") && answer.isAnswer && !answer.isRequest)
        let notification = try message(#"{"method":"notifications/initialized"}"#)
        #expect(!notification.isRequest && !notification.isAnswer)
        // The text of the host or of the server may have what the strict parser refuses.
        #expect(try message(#"{"id":1,"result":{"text":"half \ud83d"}}"#).isAnswer)
    }

    @Test func comesOutOnOneLine() throws {
        let text = "{\r\n \"id\": 1 ,\n\t\"result\" : {\n\"text\":\"a\\n b\"\n} }\n"
        let line = try message(text).line
        #expect(!line.contains(0x0A) && !line.contains(0x0D))
        let object = try JSONObject(parsing: line)
        #expect(object.object("result")?.string("text") == "a\n b" && object.integer("id") == 1)
    }

    @Test(arguments: [
        "", "x", "[]", "1", "{", "{}", "{\"id\":1}", "{\"id\":1,\"result\":{}", "{\"id\":1,\"result\":{}}}",
        "{\"id\":1,\"result\":{}} {\"id\":2,\"result\":{}}", "{\"id\":1,\"id\":2,\"result\":1}",
        "{\"id\":{},\"method\":\"x\"}", "{\"id\":1,\"method\":2}", "{\"\\u0069d\":1,\"method\":\"x\"}",
        "{\"method\":\"a\nb\"}", "{\"method\":\"a\\\nb\"}", "{\"method\":\"x\",}", "{\"method\" \"x\"}",
        "{\"method\":}",
        "{\"a\":\"\u{1}\",\"method\":\"x\"}", "{\"result\":[}",
        // What is no JSON may end a host.
        "{\"result\":01}", "{\"result\":01x}", "{\"result\":NaN}", "{\"result\":-}", "{\"result\":1.}",
        "{\"result\":1e}",
        "{\"result\":.5}", "{\"result\":tru}", "{\"result\":nulll}", "{\"result\":\"\\x\"}", "{\"result\":\"\\u12G4\"}",
        "{\"result\":[1,]}", "{\"result\":[1 2]}", "{\"result\":{\"a\"}}", "{\"result\":{\"a\":1,}}",
        "{\"result\":{1:1}}",
        "{\"result\":{\"a\":[}]}", "{\"result\":{\"a\":1:2}}", "{\"result\":+1}", "{\"result\":1}}", "{,\"result\":1}",
    ])
    func isRefusedIfItIsNone(_ text: String) {
        #expect(throws: MCPMessage.Problem.self) { try message(text) }
    }

    @Test(arguments: [
        "0", "-0.5e+10", "1E5", "12", "[]", "{}", "[ ]", "[[],{},[1,2,{\"a\":[null,true,false]}]]",
        "\"\\u00e9\\n\\\"\\/\"",
        "{\"\":{\"a\\\"b\":[ 1 , 2 ] , \"c\" : \"}\" } }",
    ])
    func isTakenWithAnyValue(_ value: String) throws {
        #expect(try message("{\"id\":1,\"result\":\(value)}").line == Array("{\"id\":1,\"result\":\(value)}".utf8))
    }

    @Test func isRefusedWithBrokenTextAndAboveTheLimit() throws {
        #expect(throws: MCPMessage.Problem.self) {
            try MCPMessage(Array("{\"method\":\"".utf8) + [0xFF] + Array("\"}".utf8))
        }
        let head = Array("{\"id\":12,\"method\":\"".utf8)
        let large = head + [UInt8](repeating: 0x61, count: MCPMessage.maximumBytes) + Array("\"}".utf8)
        #expect(throws: MCPMessage.Problem.tooLarge) { try MCPMessage(large) }
        #expect(MCPMessage.id(inBeginningOf: large) == .number("12"))
        #expect(MCPMessage.id(inBeginningOf: Array("{\"id\":[1]".utf8)) == nil)
    }

    @Test func aBatchIsItsMessages() throws {
        let all = try MCPMessage.all(in: Array(" [{\"id\":1,\"method\":\"a\"}, {\"method\":\"b\"}]".utf8))
        #expect(all.map(\.method) == ["a", "b"])
        let many = Array(repeating: "{\"method\":\"a\"}", count: 1025).joined(separator: ",")
        for text in ["[\(many)]", "[{\"method\":\"a\"}] []", "[]", "[1]", "[{}]", "[{\"method\":\"a\"}"] {
            #expect(throws: MCPMessage.Problem.self) { try MCPMessage.all(in: Array(text.utf8)) }
        }
    }

    @Test(
        arguments: [
            ("2", #"{"id":2,"result":1}"#, #"{"id":2,"result":1}"#),
            ("2", #"{"result":1, "id" : "2" }"#, #"{"result":1, "id" : 2 }"#),
            ("2", #"{"id":2.0,"error":{}}"#, #"{"id":2,"error":{}}"#),
            (#""2""#, #"{"id":2,"result":1}"#, #"{"id":"2","result":1}"#),
            ("2", #"{"id":null,"error":{"code":1}}"#, #"{"id":2,"error":{"code":1}}"#),
            (#""a\"b""#, #" {"error":{"code":1}}"#, #" {"id":"a\"b","error":{"code":1}}"#),
            ("2", #"{"id":null,"result":1}"#, nil), ("2", #"{"id":0,"result":1}"#, nil),
            ("2", #"{"id":"0","error":{}}"#, nil), ("2", #"{"id":20,"result":1}"#, nil),
            ("2", #"{"id":2,"method":"m"}"#, nil),
        ]
    )
    func answersARequestByItsID(_ id: String, _ text: String, _ answer: String?) throws {
        let request = try message(#"{"id":\#(id),"method":"m"}"#)
        let found = try message(text).answer(to: request)
        #expect(found.map { String(decoding: $0.line, as: UTF8.self) } == answer)
        #expect(found?.id == (answer == nil ? nil : request.id))
    }

    @Test func aFailureHasTheRequestsID() throws {
        let line = MCPMessage.failure(of: .string("a"), -32000, "Run: x \"y\"", data: nil)
        let object = try JSONObject(parsing: line)
        #expect(object.string("id") == "a" && object.object("error")?.string("message") == "Run: x \"y\"")
        #expect(try JSONObject(parsing: MCPMessage.failure(of: nil, -32600, "x"))["id"] == .null)
    }
}

@Suite struct MCPSearchTests {
    @Test(arguments: [
        "", "a", "aab", "xaab", "aaab", "aaba", "aabx", "abab", "ababc", "xxababcxx", "abaabab", "ababababc",
    ])
    func findsAText(_ text: String) {
        for wanted in ["a", "aab", "abab", "ababc"] {
            #expect(Array(text.utf8).contains(wanted) == text.contains(wanted), "\(wanted)")
        }
    }
}

@Suite struct MCPLinesTests {
    @Test func areWholeHoweverTheyArrive() {
        let text = Array("one\n\r\n  \ntwo\r\nthree".utf8)
        let expected = ["one", "two\r", "three"].map { MCPLines.Line.whole(Array($0.utf8)) }
        for size in 1...text.count {
            var lines = MCPLines()
            var found: [MCPLines.Line] = []
            for start in stride(from: 0, to: text.count, by: size) {
                found += lines.add(Array(text[start..<min(start + size, text.count)]))
            }
            found += lines.add([])
            #expect(found == expected, "\(size)")
        }
    }

    @Test func oneThatIsTooLongIsSkippedToItsEnd() {
        var lines = MCPLines()
        let piece = [UInt8](repeating: 0x61, count: 1 << 20)
        for _ in 0..<20 { #expect(lines.add(piece).isEmpty) }
        let found = lines.add(Array("b\nnext\n".utf8))
        #expect(found == [.tooLong(Array(piece.prefix(4096))), .whole(Array("next".utf8))])
    }
}

/// Revision 2026-07-28
@Suite struct MCPFieldsTests {
    private func call(_ arguments: String, name: String = "query") throws -> MCPMessage {
        let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#
        let text = #"{"id":1,"method":"tools/call","params":{\#(meta),"name":"\#(name)","arguments":\#(arguments)}}"#
        return try MCPMessage(Array(text.utf8))
    }

    @Test(arguments: [
        ("plain text", "plain text"), ("", ""), (" edge", "=?base64?IGVkZ2U=?="), ("größe", "=?base64?Z3LDtsOfZQ==?="),
        ("a\nb", "=?base64?YQpi?="), ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ])
    func aTextGoesIntoAField(_ text: String, _ value: String) {
        #expect(MCPFields.value(text) == value)
    }

    @Test func sayWhatARequestIsAbout() throws {
        let message = try call("{}", name: "größe")
        let version = try #require(try MCPFields.version(of: message))
        let fields = try MCPFields().fields(for: message, version: version)
        let method = try #require(HTTPField.Name("Mcp-Method"))
        #expect(version == "2026-07-28" && fields[method] == "tools/call")
        #expect(fields[try #require(.init("Mcp-Name"))] == "=?base64?Z3LDtsOfZQ==?=")
        let older = try MCPMessage(Array(#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#.utf8))
        #expect(try MCPFields.version(of: older) == nil)
    }

    private static func list(_ schemas: String...) throws -> MCPMessage {
        let tools = schemas.enumerated().map { #"{"name":"t\#($0)","inputSchema":\#($1)}"# }.joined(separator: ",")
        return try MCPMessage(Array(#"{"id":1,"result":{"tools":[\#(tools)],"nextCursor":"n"}}"#.utf8))
    }

    @Test func carryTheArgumentsThatAToolWantsThere() throws {
        let schema =
            #"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"#
            + #""deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"flag":{"type":"boolean","x-mcp-header":"F"}}}"#
        var fields = MCPFields()
        let list = try Self.list(schema)
        let listing = try MCPFields.listing(list)
        fields.note(listing)
        #expect(listing.answer == list && listing.left.isEmpty)
        let message = try call(#"{"region":"a ü","deep":{"n":12},"flag":true,"other":1}"#, name: "t0")
        let found = try fields.fields(for: message, version: "2026-07-28")
        func field(_ name: String) throws -> String? { found[try #require(HTTPField.Name(name))] }
        #expect(try field("Mcp-Param-Region") == "=?base64?YSDDvA==?=")
        #expect(try field("Mcp-Param-N") == "12")
        #expect(try field("Mcp-Param-F") == "true")
        let none = try fields.fields(for: try call(#"{"region":null,"deep":1}"#, name: "t0"), version: "2026-07-28")
        #expect(none.count == 3)
    }

    @Test func leaveOutToolsWithAnnotationsThatCannotBe() throws {
        func property(_ text: String) -> String { #"{"properties":{"a":\#(text)}}"# }
        let listing = try MCPFields.listing(
            try Self.list(
                property(#"{"type":"string","x-mcp-header":"Good"}"#),
                property(#"{"type":"number","x-mcp-header":"N"}"#),
                property(#"{"type":"string","x-mcp-header":"a\r\nb"}"#),
                property(#"{"type":"string","x-mcp-header":""}"#),
                property(#"{"items":{"type":"string","x-mcp-header":"A"}}"#),
                #"{"x-mcp-header":"Root","type":"string"}"#,
                #"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                property(#"{"default":{"x-mcp-header":5},"type":"string"}"#)
            )
        )
        #expect(listing.left == ["t1", "t2", "t3", "t4", "t5", "t6"])
        let result = try #require(try JSONObject(parsing: listing.answer.line).object("result"))
        #expect(result.array("tools")?.count == 2 && result.string("nextCursor") == "n")
    }

    @Test func takeNoMoreThanSixtyFourArgumentsOfATool() throws {
        func schema(_ count: Int) -> String {
            let all = (0..<count).map { #""a\#($0)":{"type":"string","x-mcp-header":"H\#($0)"}"# }
            return "{\"properties\":{\(all.joined(separator: ","))}}"
        }
        #expect(try MCPFields.listing(try Self.list(schema(64))).left.isEmpty)
        #expect(try MCPFields.listing(try Self.list(schema(65))).left == ["t0"])
        // An answer may have any number, which takes no time.
        #expect(try MCPFields.listing(try Self.list(schema(5_000), schema(1))).left == ["t0"])
    }

    /// The arguments are not parsed if no tool wants one of them.
    @Test func areThoseOfAnyArguments() throws {
        let message = try call(#"{"text":"half \ud83d"}"#)
        #expect(try MCPFields().fields(for: message, version: "2026-07-28").count == 3)
    }
}
