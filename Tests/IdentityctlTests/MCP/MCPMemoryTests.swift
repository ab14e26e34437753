// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import OAuthWire
import Testing

@testable import identityctl

@Suite struct MCPMemoryTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    private func memory(_ server: String = "https://a.test/mcp", account: String? = "alice") -> MCPMemory {
        struct SignedOut: Error {}
        return MCPMemory(directory: "\(temporary.path)/answers", server: server) {
            guard let account else { throw SignedOut() }
            return account
        }
    }

    private func request(_ method: String, _ params: String = "{}") throws -> MCPMessage {
        try MCPMessage(Array(#"{"id":"new","method":"\#(method)","params":\#(params)}"#.utf8))
    }

    private func answer(_ rest: String) throws -> MCPMessage { try MCPMessage(Array(#"{"id":7,\#(rest)}"#.utf8)) }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(temporary.path)/answers")
    }

    @Test func keepsAnswersByServerAccountAndRevision() async throws {
        let list = try request("tools/list")
        try await memory().note(answer(#""result":{"tools":["\ud800"]}"#), to: list, "2025-11-25")
        let kept = try #require(await memory().answer(to: list, "2025-11-25"))
        #expect(kept.line == Array(#"{"id":"new","result":{"tools":["\ud800"]}}"#.utf8))
        #expect(await memory().answer(to: list, "2025-06-18") == nil)
        #expect(await memory("https://b.test/mcp").answer(to: list, "2025-11-25") == nil)
        #expect(await memory(account: "bob").answer(to: list, "2025-11-25") == nil)
        #expect(await memory(account: nil).answer(to: list, "2025-11-25") == nil)
        #expect(try await memory().answer(to: request("prompts/list"), "2025-11-25") == nil)
        // The next answer takes its place.
        try await memory().note(answer(#""result":{"tools":[]}"#), to: list, "2025-11-25")
        #expect(
            await memory().answer(to: list, "2025-11-25")?.line == Array(#"{"id":"new","result":{"tools":[]}}"#.utf8)
        )
    }

    /// An answer that is not whole is not kept, and takes the place of an older one.
    @Test(arguments: [
        #""result":{"tools":[],"nextCursor":"2"}"#,
        #""result":{"tools":["\#(String(repeating: "x", count: 2 << 20))"]}"#,
    ])
    func forgetsWhatItCannotKeep(rest: String) async throws {
        let (list, first) = (try request("tools/list"), try request("server/discover"))
        try await memory().note(answer(#""error":{"code":-32601,"message":"no"}"#), to: first, "r")
        try await memory().note(answer(#""result":{"tools":[]}"#), to: list, "r")
        try await memory().note(answer(#""error":{"code":-32603,"message":"busy"}"#), to: list, "r")
        #expect(await memory().answer(to: list, "r") != nil)
        try await memory().note(answer(rest), to: list, "r")
        #expect(await memory().answer(to: list, "r") == nil)
        #expect(await memory().answer(to: first, "r")?.isRefusalOfMethod == true)
    }

    @Test(arguments: [
        ("tools/list", "{}", true), ("tools/list", #"{"cursor":"2"}"#, false), ("initialize", "{}", true),
        ("tools/call", "{}", false),
    ])
    func keepsWhatAHostAsksFirst(method: String, params: String, isKept: Bool) throws {
        #expect(try MCPMemory.keeps(request(method, params)) == isKept)
    }

    @Test func readsNoFileThatOthersCanWrite() async throws {
        let list = try request("tools/list")
        try await memory().note(answer(#""result":{"tools":[]}"#), to: list, "r")
        let path = "\(temporary.path)/answers/\(try #require(files().first))"
        try FileManager.default.setAttributes([.posixPermissions: 0o620], ofItemAtPath: path)
        #expect(await memory().answer(to: list, "r") == nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(await memory().answer(to: list, "r") != nil)
        try Data("tools/list {\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(await memory().answer(to: list, "r") == nil)
    }

    @Test func keepsAFewFiles() async throws {
        let list = try request("tools/list")
        for number in 0..<70 {
            try await memory("https://\(number).test").note(answer(#""result":{"tools":[]}"#), to: list, "r")
        }
        #expect(try files().count == 64)
        #expect(await memory("https://69.test").answer(to: list, "r") != nil)
    }
}
