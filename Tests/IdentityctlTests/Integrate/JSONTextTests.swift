// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import OAuthWire
import Testing

@testable import identityctl

/// Members that are added to a person's JSON file and removed again, with all other bytes as they were.
@Suite struct JSONTextTests {
    private let setup: ToolSetup
    private let entry = JSONObject([("command", .string("identityctl"))])

    init() throws { setup = try ToolSetup() }

    private func text(_ bytes: String) throws -> JSONText {
        let path = "\(setup.directory.path)/settings.json"
        try ConfigFile(path).replace(with: Array(bytes.utf8))
        return try JSONText(try ConfigFile(path))
    }

    /// Files in the forms of several programs.
    static let files = [
        #"{}"#, "{ }\n", "{\r\n\t\"a\": [1, {\"mcpServers\": {}}]\r\n}\r\n", #"{"mcpServers":{}}"#,
        "{\"mcpServers\": {\n}, \"z\": \"}\\\"{\"}", #"{"mcpServers":{"other":{"command":"x"}},"n":1.50}"#,
        "// mine\n{\n  /* { */ \"mcpServers\": { // first\n    \"other\": {\"url\": \"https://a/*b\"}, // last\n  },\n}\n",
        "{\n    // nothing \"yet\"\n}\n", #"{"\u006dcpServers": {"x": 1}}"#,
    ]

    @Test(arguments: files) func restoresEachByte(before: String) throws {
        var text = try text(before)
        let others = text.object(at: ["mcpServers"])?.members.map(\.name) ?? []
        text.add("new", .object(entry), at: ["mcpServers"])
        text.add("second", .object(entry), at: ["mcpServers"])
        #expect(text.object(at: ["mcpServers"])?.members.map(\.name) == ["second", "new"] + others)
        #expect(text.object(at: ["mcpServers", "new"]) == entry)
        text.remove("new", at: ["mcpServers"])
        #expect(text.object(at: ["mcpServers"])?.members.map(\.name) == ["second"] + others)
        text.remove("second", at: ["mcpServers"])
        #expect(String(decoding: text.bytes, as: UTF8.self) == before)
    }

    /// A program may have cut a text in the middle of a character.
    @Test func keepsWhatTheParserRefuses() throws {
        let before = #"{"history": ["half \ud83d", {"a": 1, "a": 2}], "mcpServers": {"other": {}}}"#
        var text = try text(before)
        text.add("new", .object(entry), at: ["mcpServers"])
        #expect(text.object(at: ["mcpServers", "new"]) == entry && text.has("history") && !text.has("new"))
        text.remove("new", at: ["mcpServers"])
        #expect(String(decoding: text.bytes, as: UTF8.self) == before)
    }

    @Test func addsToAFileOfWhichNothingWasLeft() throws {
        var text = try text("")
        for _ in 0..<2 {
            text.add("new", .string("a"), at: ["env"])
            #expect(text.object(at: ["env"])?.string("new") == "a")
            text.remove("new", at: ["env"])
            #expect(text.bytes.isEmpty)
        }
    }

    @Test func leavesNothingOfAFileOfItsOwn() throws {
        var text = try text("\n")
        text.add("new", .object(entry), at: ["a", "b"])
        #expect(
            String(decoding: text.bytes, as: UTF8.self)
                == "{\n  \"a\": {\"b\": {\"new\": {\"command\":\"identityctl\"}}}\n}\n"
        )
        text.remove("new", at: ["a", "b"])
        #expect(text.bytes.isEmpty)
    }

    /// Another program may have put the members into another order, and a person may have written between them.
    @Test(
        arguments: [
            (#"{"s": {"a": 1, "new": {}, "b": 2}}"#, #"{"s": {"a": 1, "b": 2}}"#),
            (#"{"s": {"a": 1, "new": {}}}"#, #"{"s": {"a": 1}}"#),
            ("{\"s\": {\"a\": 1, // one\n\"new\": {}}}", "{\"s\": {\"a\": 1 // one\n}}"),
            ("{\"s\": {\"new\": {}, // one\n\"a\": 1}}", "{\"s\": { // one\n\"a\": 1}}"),
            ("{\"s\": {\n  \"new\": {}\n}}", "{\"s\": {\n  \n}}"),
        ]
    )
    func removesAMemberFromBetweenOthers(before: String, after: String) throws {
        var text = try text(before)
        text.remove("new", at: ["s"])
        #expect(String(decoding: text.bytes, as: UTF8.self) == after)
        text.remove("new", at: ["s"])
        #expect(String(decoding: text.bytes, as: UTF8.self) == after)
    }

    @Test(arguments: [
        "[]", "{", #"{"a":1,,"b":2}"#, #"{"a":1,"a":2}"#, "{\"a\": 1} // x\n}", #"{"a": tru/**/e}"#, "{/*", "{,}",
    ])
    func refusesWhatIsNoObject(bytes: String) throws {
        #expect(throws: UsageError.self) { try text(bytes) }
    }

    @Test func refusesWhatIsNoUTF8() throws {
        let path = "\(setup.directory.path)/settings.json"
        try ConfigFile(path).replace(with: Array("{\"a\": \"".utf8) + [0xFF] + Array("\"}".utf8))
        #expect(throws: UsageError.self) { try JSONText(try ConfigFile(path)) }
    }
}
