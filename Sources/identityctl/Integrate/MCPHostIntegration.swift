// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A server of the Model Context Protocol, which a program (MCP's host) reaches by `identityctl mcp`.
struct MCPServerEntry: Hashable, Sendable {
    /// The name in the program's configuration.
    let name: String
    let address: String
    var profile: ProfileName?
    var account: String?

    /// Whether the address looks like one of the older transport (HTTP with SSE, 2024-11-05).
    var isOfOlderTransport: Bool { address.hasSuffix("/sse") || address.hasSuffix("/sse/") }

    /// The words after `identityctl`.
    var arguments: [String] { ["mcp"] + options.flatMap { [$0.name, $0.value] } + [address] }

    private var options: [(name: String, value: String)] {
        [("--profile", profile?.text), ("--account", account)].compactMap { name, value in value.map { (name, $0) } }
    }

    /// The command with which a person signs in for it.
    var login: SharedOptions {
        let named = options.isEmpty || profile == nil ? [("--resource", address)] + options : options
        let login = named.reduce(SharedOptions()) { $0.replacing($1.0, with: $1.1) }
        return profile == nil ? login.adding(flag: "--mcp") : login
    }

    /// - Parameter name: The name; the address's host with dashes for periods unless given.
    /// - Throws: `UsageError` for an address that a token must not be sent to, or a name or account that some program does not
    ///   accept.
    init(address given: Given, name: String?, profile: ProfileName?, account: String? = nil) throws {
        guard let served = ServedAddress(asked: given.text) else { throw given.error(ServedAddress.form) }
        for given in [given] + (account.map { [Given(text: $0, origin: "--account")] } ?? []) {
            guard !given.text.isEmpty, given.text.utf8.areVisible else {
                throw given.error("blanks and control characters are not possible.")
            }
            guard !given.text.utf8.contains(where: "{}$".utf8.contains) else {
                throw given.error("braces and '$' are not possible: programs put variables and files in their place.")
            }
        }
        let host = served.text.split(separator: "/").dropFirst().first ?? ""
        let usual = String(decoding: host.utf8.map { $0.isAlphanumeric ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
        self.name = name ?? usual
        guard (1...64).contains(self.name.utf8.count), self.name.utf8.areAlphanumeric(or: "-_") else {
            throw UsageError("--name: give 1 to 64 letters, digits, '-' and '_'.")
        }
        (address, self.profile, self.account) = (given.text, profile, account)
    }

    /// An entry that a program has; `nil` if it does not start `identityctl mcp`.
    init?(name: String, words: [String]) {
        guard words.first?.split(separator: "/").last == "identityctl", words.count > 2, words[1] == "mcp",
            let address = words.last
        else { return nil }
        (self.name, self.address) = (name, address)
        func value(of option: String) -> String? {
            words[2...].firstIndex(of: option).flatMap { $0 + 2 < words.count ? words[$0 + 1] : nil }
        }
        profile = value(of: "--profile").flatMap { ProfileName($0) }
        account = value(of: "--account")
    }

    /// The setting of a program that starts this one by `word`, for the doctor.
    func use(startedBy word: String, in home: Home) -> IntegrationUse {
        IntegrationUse(
            label: name,
            resource: address,
            profile: profile?.text,
            account: account,
            obstacle: home.obstacle(toStarting: word)
        )
    }
}

extension IntegratedTool {
    static let vscode = IntegratedTool(name: "vscode", asks: .servers) { home in
        // https://code.visualstudio.com/docs/agents/reference/mcp-configuration, "user profile"
        let path = "\(home.configuration)/Code/User/mcp.json"
        return MCPHostIntegration(
            home: home,
            path: path,
            member: "servers",
            form: .typed,
            isDesktopProgram: true,
            projectFile: ".vscode/mcp.json"
        )
    }
    static let cursor = IntegratedTool(name: "cursor", asks: .servers) { home in
        // https://cursor.com/docs/context/mcp, "global configuration"
        let file = ".cursor/mcp.json"
        return MCPHostIntegration(
            home: home,
            path: "\(home.path)/\(file)",
            form: .typed,
            isDesktopProgram: true,
            projectFile: file
        )
    }
    static let gemini = IntegratedTool(name: "gemini", asks: .servers) { home in
        // https://geminicli.com/docs/tools/mcp-server
        let file = ".gemini/settings.json"
        return MCPHostIntegration(home: home, path: "\(home.path)/\(file)", form: .plain, projectFile: file)
    }
    static let opencode = IntegratedTool(name: "opencode", asks: .servers, start: MCPHostStart(seconds: 5)) { home in
        // https://opencode.ai/docs/mcp-servers, "local" and "timeout"
        let path = "\(home.configuration)/opencode/opencode.json"
        let hasComments = ConfigFile.exists("\(path)c") && !ConfigFile.exists(path)
        return MCPHostIntegration(
            home: home,
            path: path + (hasComments ? "c" : ""),
            member: "mcp",
            form: .list,
            projectFile: "opencode.json"
        )
    }
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
    /// Whether the file has entries of single projects as well.
    var hasProjects = false
    /// The file of a project that has entries for everyone who works there.
    let projectFile: String

    var link: HelperLink? { nil }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        guard let server = subject.server else { return IntegrationPlan(changes: []) }
        var entry = entry(server)
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
            guard let words = words(of: other), words.dropFirst().elementsEqual(server.arguments),
                named(server.name, other) != nil
            else {
                throw UsageError(
                    "\(path.printable) has an entry '\(server.name)' already, which means something else. Give another --name, or "
                        + "remove that entry."
                )
            }
            guard home.obstacle(toStarting: words[0]) != nil else { return IntegrationPlan(changes: []) }
            // What the person has added to the entry stays.
            for member in text.object(at: place + [server.name])?.members ?? [] where entry[member.name] == nil {
                entry[member.name] = member.value
            }
            text.replace(server.name, with: entry, at: place)
        } else {
            text.add(server.name, .object(entry), at: place)
        }
        let target = place.joined(separator: ".")
        return IntegrationPlan(
            changes: [.write(file, text.bytes, "add '\(server.name)', which starts 'identityctl mcp', to '\(target)'")],
            notes: ["A program that runs now reads this when it starts again."]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path, atMost: Self.maximumSize)
        let isUnwanted = { (found: Found) in subject.map { $0.server == found.entry } ?? true }
        let unwanted = try found(in: file).filter(isUnwanted)
        let others = try foundInProject().filter(isUnwanted).map {
            "'\($0.entry.name.printable)' in ./\(projectFile) is for everyone who works here, and stays. Remove it there."
        }
        guard !unwanted.isEmpty else { return IntegrationPlan(changes: [], notes: others) }
        var text = try JSONText(file)
        for found in unwanted { text.remove(found.entry.name, at: found.place) }
        let names = unwanted.map { "'\($0.entry.name.printable)'" }.joined(separator: ", ")
        let places = Set(unwanted.map { $0.place.map(\.printable).joined(separator: ".") }).sorted().joined(
            separator: ", "
        )
        return IntegrationPlan(changes: [.write(file, text.bytes, "remove \(names) from '\(places)'")], notes: others)
    }

    /// The way to the entries. Version 2 of opencode has them one level deeper, where an entry of version 1 would have a type.
    private func place(in text: JSONText) -> [String] {
        guard form == .list, let deeper = text.object(at: [member, "servers"]), deeper["type"]?.string == nil else {
            return [member]
        }
        return [member, "servers"]
    }

    func uses() async throws -> [IntegrationUse] {
        try (found(in: try ConfigFile(path, atMost: Self.maximumSize)) + foundInProject()).map { found in
            var use = found.entry.use(startedBy: found.word, in: home)
            use.project = found.project
            return use
        }
    }

    /// An entry that starts this program.
    private struct Found {
        let entry: MCPServerEntry
        /// The word by which it does.
        let word: String
        /// The way to it.
        let place: [String]
        /// The project that it is for; `nil` for all.
        let project: String?
    }

    /// Returns the entries that start this program. A file that does not name it is not parsed.
    private func found(in file: ConfigFile) throws -> [Found] {
        guard file.bytes?.contains("identityctl") == true else { return [] }
        let text = try JSONText(file)
        let places =
            [(place(in: text), String?.none)]
            + (hasProjects ? text.names(at: ["projects"]).map { (["projects", $0, member], $0) } : [])
        return places.flatMap { place, project in
            (text.object(at: place)?.members ?? []).compactMap { name, value in
                named(name, value).map { Found(entry: $0.server, word: $0.word, place: place, project: project) }
            }
        }
    }

    /// Returns the entries in the file of the project in this directory. One that cannot be read is the project's.
    private func foundInProject() throws -> [Found] {
        let directory = FileManager.default.currentDirectoryPath
        guard "\(directory)/\(projectFile)" != path, let file = try? ConfigFile("\(directory)/\(projectFile)") else {
            return []
        }
        return (try? found(in: file))?.map { found in
            Found(entry: found.entry, word: found.word, place: found.place, project: directory)
        } ?? []
    }

    private func named(_ name: String, _ value: JSONValue) -> (server: MCPServerEntry, word: String)? {
        guard let words = words(of: value), let server = MCPServerEntry(name: name, words: words) else { return nil }
        return (server, words[0])
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
        if !places.isEmpty {
            let values = places.map { (name: $0.name, value: JSONValue.string($0.value)) }
            entry[form == .list ? "environment" : "env"] = .object(JSONObject(values))
        }
        return entry
    }
}

extension Home {
    /// The variables of this command that say where sign-ins and profiles are. The program that starts the bridge may not pass them
    /// on, and the bridge would look in another place.
    var placesOfSignIns: [(name: String, value: String)] {
        ["IDENTITYCTL_CACHE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"].compactMap { name in
            environment[name].map { (name, $0) }
        }
    }
}
