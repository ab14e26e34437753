// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A server of the Model Context Protocol, which a program (MCP's host) reaches by `identityctl mcp`.
struct MCPServerEntry: Hashable, Sendable {
    /// The name in the program's configuration.
    let name: String
    let address: String
    var profile: ProfileName?

    /// Whether the address looks like one of the older transport (HTTP with SSE, 2024-11-05).
    var isOfOlderTransport: Bool { address.hasSuffix("/sse") || address.hasSuffix("/sse/") }

    /// The words after `identityctl`.
    var arguments: [String] { ["mcp"] + (profile.map { ["--profile", $0.text] } ?? []) + [address] }

    /// - Parameter name: The name; the address's host with dashes for periods unless given.
    /// - Throws: `UsageError` for an address that a token must not be sent to, or a name that some program does not accept.
    init(address given: Given, name: String?, profile: ProfileName?) throws {
        guard let served = ServedAddress(asked: given.text) else { throw given.error(ServedAddress.form) }
        guard given.text.utf8.areVisible else { throw given.error("blanks and control characters are not possible.") }
        guard !given.text.utf8.contains(where: "{}$".utf8.contains) else {
            throw given.error("braces and '$' are not possible: programs put variables and files in their place.")
        }
        let host = served.text.split(separator: "/").dropFirst().first ?? ""
        let usual = String(decoding: host.utf8.map { $0.isAlphanumeric ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
        self.name = name ?? usual
        guard (1...64).contains(self.name.utf8.count), self.name.utf8.areAlphanumeric(or: "-_") else {
            throw UsageError("--name: give 1 to 64 letters, digits, '-' and '_'.")
        }
        (address, self.profile) = (given.text, profile)
    }

    /// An entry that a program has; `nil` if it does not start `identityctl mcp`.
    init?(name: String, words: [String]) {
        guard words.first?.split(separator: "/").last == "identityctl", words.count > 2, words[1] == "mcp",
            let address = words.last
        else { return nil }
        (self.name, self.address) = (name, address)
        profile = words.count == 5 && words[2] == "--profile" ? ProfileName(words[3]) : nil
    }

    /// The setting of the program, for the doctor.
    var use: IntegrationUse {
        IntegrationUse(label: name, resource: address, profile: profile?.text)
    }
}

extension IntegratedTool {
    static let claudeCode = IntegratedTool(name: "claude-code", asks: .servers) { home in
        // https://code.claude.com/docs/en/mcp, "user scope"
        let directory = home.environment["CLAUDE_CONFIG_DIR"] ?? home.path
        return MCPHostIntegration(home: home, path: "\(directory)/.claude.json", form: .typed)
    }
    static let vscode = IntegratedTool(name: "vscode", asks: .servers) { home in
        // https://code.visualstudio.com/docs/agents/reference/mcp-configuration, "user profile"
        let path = "\(home.configuration)/Code/User/mcp.json"
        return MCPHostIntegration(
            home: home,
            path: path,
            member: "servers",
            form: .typed,
            isDesktopProgram: true
        )
    }
    static let cursor = IntegratedTool(name: "cursor", asks: .servers) { home in
        // https://cursor.com/docs/context/mcp, "global configuration"
        let path = "\(home.path)/.cursor/mcp.json"
        return MCPHostIntegration(home: home, path: path, form: .typed, isDesktopProgram: true)
    }
    static let gemini = IntegratedTool(name: "gemini", asks: .servers) { home in
        // https://geminicli.com/docs/tools/mcp-server
        MCPHostIntegration(home: home, path: "\(home.path)/.gemini/settings.json", form: .plain)
    }
    static let opencode = IntegratedTool(name: "opencode", asks: .servers) { home in
        // https://opencode.ai/docs/mcp-servers, "local"
        let path = "\(home.configuration)/opencode/opencode.json"
        let hasComments = ConfigFile.exists("\(path)c") && !ConfigFile.exists(path)
        return MCPHostIntegration(
            home: home,
            path: path + (hasComments ? "c" : ""),
            member: "mcp",
            form: .list
        )
    }
    static let codex = IntegratedTool(name: "codex", asks: .servers) { LinesIntegration.codex(in: $0) }
}

/// A program of which a JSON file names the servers of the Model Context Protocol.
struct MCPHostIntegration: Integration {
    /// How an entry names its command.
    enum Form: Hashable, Sendable {
        /// `command` and `args`.
        case plain
        /// The same, with the type `stdio`.
        case typed
        /// All words in `command`, with the type `local`.
        case list
    }

    /// The maximum length of a program's file in bytes: Claude Code has its history in it.
    private static let maximumSize = 256 << 20

    let home: Home
    let path: String
    /// The member that has the entries.
    var member = "mcpServers"
    let form: Form
    /// Whether a desktop starts the program, with a `PATH` of its own.
    var isDesktopProgram = false

    var link: HelperLink? { nil }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        guard let server = subject.server else { return IntegrationPlan(changes: []) }
        let entry = entry(server)
        let file = try ConfigFile(path, atMost: Self.maximumSize)
        var text: JSONText
        do {
            text = try JSONText(file)
            guard !text.has(member) || text.object(at: [member]) != nil else {
                throw UsageError("\(path.printable): '\(member)' is no object that can be read. Nothing was changed.")
            }
        } catch let error as UsageError {
            let line = "\(JSONValue.string(server.name).jsonText): \(JSONValue.object(entry).jsonText)"
            throw UsageError("\(error) To set it up by hand, add to '\(member)': \(line)")
        }
        let place = place(in: text)
        if let other = text.object(at: place)?[server.name] {
            if words(of: other).map({ Array($0.dropFirst()) }) == server.arguments, named(server.name, other) != nil {
                return IntegrationPlan(changes: [])
            }
            throw UsageError(
                "\(path.printable) has an entry '\(server.name)' already, which means something else. Give another --name, or "
                    + "remove that entry."
            )
        }
        text.add(server.name, entry, at: place)
        let target = place.joined(separator: ".")
        return IntegrationPlan(
            changes: [.write(file, text.bytes, "add '\(server.name)', which starts 'identityctl mcp', to '\(target)'")],
            notes: ["A program that runs now reads this when it starts again."]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path, atMost: Self.maximumSize)
        let unwanted = try entries(file).filter { entry in subject.map { $0.server == entry } ?? true }
        guard !unwanted.isEmpty else { return IntegrationPlan(changes: []) }
        var text = try JSONText(file)
        let place = place(in: text)
        for entry in unwanted { text.remove(entry.name, at: place) }
        let names = unwanted.map { "'\($0.name.printable)'" }.joined(separator: ", ")
        let target = place.joined(separator: ".")
        return IntegrationPlan(changes: [.write(file, text.bytes, "remove \(names) from '\(target)'")])
    }

    /// The way to the entries. Version 2 of opencode has them one level deeper, where an entry of version 1 would have a type.
    private func place(in text: JSONText) -> [String] {
        guard form == .list, let deeper = text.object(at: [member, "servers"]), deeper["type"]?.string == nil else {
            return [member]
        }
        return [member, "servers"]
    }

    func uses() async throws -> [IntegrationUse] {
        try entries(try ConfigFile(path, atMost: Self.maximumSize)).map(\.use)
    }

    /// Returns the entries that start this program. A file that does not name it is not parsed.
    private func entries(_ file: ConfigFile) throws -> [MCPServerEntry] {
        guard file.bytes?.contains("identityctl") == true else { return [] }
        let text = try JSONText(file)
        return text.object(at: place(in: text))?.members.compactMap { named($0.name, $0.value) } ?? []
    }

    private func named(_ name: String, _ value: JSONValue) -> MCPServerEntry? {
        words(of: value).flatMap { MCPServerEntry(name: name, words: $0) }
    }

    private func words(of value: JSONValue) -> [String]? {
        guard case .object(let entry) = value else { return nil }
        if form == .list { return entry.strings("command") }
        guard let command = entry.string("command"), let arguments = entry.strings("args") else { return nil }
        return [command] + arguments
    }

    private func entry(_ server: MCPServerEntry) -> JSONObject {
        let command = isDesktopProgram ? home.linked : home.command
        let type: [(String, JSONValue)] =
            switch form {
            case .list: [("type", .string("local"))]
            case .typed: [("type", .string("stdio"))]
            case .plain: []
            }
        let words: [(String, JSONValue)] =
            form == .list
            ? [("command", .strings([command] + server.arguments))]
            : [("command", .string(command)), ("args", .strings(server.arguments))]
        var entry = JSONObject(type + words)
        let places = home.placesOfSignIns
        if !places.isEmpty { entry[form == .list ? "environment" : "env"] = .object(JSONObject(places)) }
        return entry
    }
}

extension Home {
    /// The variables of this command that say where sign-ins and profiles are. The program that starts the bridge may not pass them
    /// on, and the bridge would look in another place.
    fileprivate var placesOfSignIns: [(name: String, value: JSONValue)] {
        ["IDENTITYCTL_CACHE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"].compactMap { name in
            environment[name].map { (name, .string($0)) }
        }
    }
}

extension LinesIntegration {
    /// The variables that Codex passes on by their names. It starts a server with few of them.
    private static let passedOn =
        [
            "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "BROWSER",
            "SSH_CONNECTION", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ] + ["agent", "profile", "sign-in", "browser", "proxy", "ca-file"].map(Environment.variable)

    /// Codex has a table for each server. One line means the same, and stands before all tables. Its usual time for a start is too
    /// short for a sign-in.
    ///
    /// - SeeAlso: [Codex](https://developers.openai.com/codex/mcp), "config.toml"
    static func codex(in home: Home) -> LinesIntegration {
        let key = "mcp_servers."
        return LinesIntegration(
            tool: .codex,
            home: home,
            link: nil,
            path: "\(home.environment["CODEX_HOME"] ?? "\(home.path)/.codex")/config.toml",
            lines: { subject in
                guard let server = subject.server else { return ([], []) }
                // A string of JSON is one of TOML.
                func list(_ words: [String]) -> String {
                    "[\(words.map { JSONValue.string($0).jsonText }.joined(separator: ", "))]"
                }
                let values = home.placesOfSignIns.map { "\($0.name) = \($0.value.jsonText)" }
                let items =
                    [
                        "command = \(JSONValue.string(home.command).jsonText)", "args = \(list(server.arguments))",
                        "env_vars = \(list(passedOn))", "startup_timeout_sec = 75",
                    ] + (values.isEmpty ? [] : ["env = { \(values.joined(separator: ", ")) }"])
                return (["\(key)\(server.name) = { \(items.joined(separator: ", ")) }"], [])
            },
            conflicts: { other, own in
                let name = own.dropFirst(key.count).prefix { $0 != " " }
                let plain = other.filter { !" \t\"'\r".contains($0) }
                return ["[mcp_servers]", "[\(key)\(name)]"].contains(plain) || plain.hasPrefix("mcp_servers=")
                    || ["=", "."].contains {
                        plain.hasPrefix("\(key)\(name)\($0)") || plain.hasPrefix("[\(key)\(name)\($0)")
                    }
            },
            use: { line in
                // The line's own quotes are those of JSON.
                guard line.hasPrefix(key) else { return nil }
                let name = line.dropFirst(key.count).prefix { $0 != " " }
                let parts = line.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
                // The words end where the list of arguments does.
                let end = parts.indices.first { $0 % 2 == 0 && parts[$0].contains(UInt8(ascii: "]")) } ?? parts.endIndex
                let words = parts.indices.filter { $0 % 2 == 1 && $0 < end }.map { String(Substring(parts[$0])) }
                return MCPServerEntry(name: String(name), words: words)?.use
            },
            replacesSameUse: true
        )
    }
}
