// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The answers of a server to the first messages of hosts, so that the next start of a host waits for nothing: a file for each
/// server, account and revision. It holds no secret.
struct MCPMemory: Sendable {
    /// The lists by which a host learns what a server has, each with the notification that it has changed.
    static let lists = [
        "tools/list": "notifications/tools/list_changed", "prompts/list": "notifications/prompts/list_changed",
        "resources/list": "notifications/resources/list_changed",
        "resources/templates/list": "notifications/resources/list_changed",
    ]

    private static let (maximumBytes, maximumFiles) = (2 << 20, 64)

    /// The directory of the files; `nil` without a home directory, where nothing is remembered.
    let directory: String?
    let server: String
    /// Returns the account that the server answers.
    let account: @Sendable () async throws -> String
    private let queue = QueueExecutor("identityctl.mcp-answers")

    init(directory: String?, server: String, account: @escaping @Sendable () async throws -> String) {
        (self.directory, self.server, self.account) = (directory, server, account)
    }

    /// Whether the answer to a message is remembered: to a first message, or to the request for a whole list.
    static func keeps(_ message: MCPMessage) -> Bool {
        guard message.isRequest, let method = message.method else { return false }
        guard lists[method] != nil else { return ["initialize", "server/discover"].contains(method) }
        return (try? message.members.members("params")?.places["cursor"]) == nil
    }

    /// - Returns: `nil` without a home directory, or if no account is signed in.
    private func path(_ revision: String) async -> String? {
        guard let directory, let account = try? await account() else { return nil }
        return "\(directory)/\(Digest.hexadecimal(of: ["mcp", server, account, revision]).prefix(32))"
    }

    /// Returns the remembered answer, as one to this message.
    func answer(to message: MCPMessage, _ revision: String) async -> MCPMessage? {
        guard let path = await path(revision), let answers = try? await queue.run({ Self.read(path) }),
            let line = answers[message.method ?? ""]
        else { return nil }
        return try? MCPMessage(line).identified(as: message)  // a damaged file holds nothing
    }

    /// Takes an answer in place of an older one. One that cannot be kept is forgotten.
    func note(_ answer: MCPMessage, to message: MCPMessage, _ revision: String) async {
        guard answer.members.places["result"] != nil || answer.isRefusalOfMethod, let method = message.method,
            let path = await path(revision)
        else { return }
        // One after the other, so that none is lost.
        try? await queue.run { keep(Self.kept(answer), method, at: path) }
    }

    private func keep(_ line: [UInt8]?, _ method: String, at path: String) {
        var answers = Self.read(path)
        let before = answers
        answers[method] = line
        // What is larger than a file may be is the newest answer.
        if answers.values.map(\.count).reduce(0, +) > Self.maximumBytes { answers[method] = nil }
        guard answers != before else { return }
        let lines = answers.sorted { $0.key < $1.key }.map { Array("\($0.key) ".utf8) + $0.value + [0x0A] }
        // The next start asks the server.
        try? PlainFile.write(lines.flatMap(\.self), to: path)
        forgetOldest()
    }

    /// Returns the line that is kept of an answer; `nil` for one page of several.
    private static func kept(_ answer: MCPMessage) -> [UInt8]? {
        guard let result = try? answer.members.members("result") else { return answer.line }
        guard result.places["nextCursor"] == nil else { return nil }
        guard result.places["capabilities"] != nil else { return answer.line }
        // The list that the host gets from here may be an older one than the server's.
        guard var object = try? JSONObject(parsing: answer.line, maximumDepth: 64), var inner = object.object("result"),
            var capabilities = inner.object("capabilities")
        else { return nil }
        if var tools = capabilities.object("tools") {
            tools["listChanged"] = .bool(true)
            capabilities["tools"] = .object(tools)
            inner["capabilities"] = .object(capabilities)
            object["result"] = .object(inner)
        }
        return object.serialized()
    }

    private static func read(_ path: String) -> [String: [UInt8]] {
        struct Foreign: Error {}
        let found = try? PlainFile.read(path, atMost: maximumBytes + 4096) { status in
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
                throw Foreign()
            }
        }
        // What cannot be read is not there.
        let lines = (found?.bytes ?? []).split(separator: 0x0A).compactMap { line -> (String, [UInt8])? in
            guard let end = line.firstIndex(of: 0x20) else { return nil }
            return (String(decoding: line[..<end], as: UTF8.self), Array(line[(end + 1)...]))
        }
        return Dictionary(lines) { $1 }
    }

    /// Keeps the number of files within its limit.
    private func forgetOldest() {
        guard let directory, let all = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return }
        // A file that is being written has a dot.
        let names = all.filter { !$0.hasPrefix(".") }
        guard names.count > Self.maximumFiles else { return }
        let files = names.map { name -> (path: String, written: Int) in
            var status = stat()
            _ = unsafe stat("\(directory)/\(name)", &status)
            return ("\(directory)/\(name)", status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec)
        }
        for file in files.sorted(by: { $0.written < $1.written }).dropLast(Self.maximumFiles) {
            _ = PlainFile.remove(file.path)
        }
    }
}

extension MCPMessage {
    /// Whether it says that the server does not know the method (JSON-RPC 2.0 §5.1). A server without `server/discover` says so.
    var isRefusalOfMethod: Bool {
        (try? members.members("error")?.value("code")) == .number("-32601")
    }

    /// Returns why a host that got another first answer than this one cannot go on; `nil` if it can.
    ///
    /// - Parameter version: The revision of each message, in the revisions in which messages name it.
    func problem(forHostWith first: MCPMessage, _ version: String?) throws(Problem) -> Problem? {
        guard let before = try first.members.members("result") else { return nil }
        let now = try members.members("result")
        // Another error says nothing about the revision. The next message may meet none.
        guard now != nil || isRefusalOfMethod else { return nil }
        let speaks: Bool
        if let version {
            speaks =
                if case .array(let all)? = try now?.value("supportedVersions") { all.contains(.string(version)) } else {
                    false
                }
        } else {
            speaks = try now?.value("protocolVersion") == before.value("protocolVersion")
        }
        guard speaks else {
            return Problem("The server speaks another revision of the protocol now. Start it anew in this program.")
        }
        guard case .object(let old)? = try before.value("capabilities") else { return nil }
        let new: JSONObject =
            if case .object(let object)? = try now?.value("capabilities") { object } else { JSONObject() }
        guard let lost = old.members.first(where: { new[$0.name] == nil })?.name else { return nil }
        return Problem(
            "The server does not offer '\(lost.printable)' any more, of which this program was told. Start it anew in this program."
        )
    }
}
