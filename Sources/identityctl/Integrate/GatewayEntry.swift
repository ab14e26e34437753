// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A model's gateway, as an AI program is told about it.
struct GatewayEntry: Hashable, Sendable {
    enum Credential: Hashable, Sendable {
        /// The forwarder's word.
        case phantom(String)
        /// The command that prints the token.
        case helper([String])
    }

    /// The gateway's address.
    let address: String
    /// The address that the program gets: the forwarder's, or the gateway's.
    let url: String
    let credential: Credential

    /// An entry of the forwarder's form, or with the helper's command.
    ///
    /// - Parameter profile: The profile; by default the one that serves the gateway.
    /// - Throws: `UsageError` if no profile passes requests on to the gateway, or may have its token; `SystemFailure`.
    init(_ address: String, of profile: ProfileName?, byHelper: Bool, in home: Home) throws {
        guard let gateway = WebAddress(address), let served = ServedAddress(asked: address), gateway.query == nil,
            !address.utf8.contains(where: "{}$".utf8.contains)
        else { throw UsageError("--gateway: \(ServedAddress.form)") }
        self.address = address
        let directory = try ProfileDirectory(home.environment)
        let names = try profile.map { [$0] } ?? directory.names()
        guard !byHelper else {
            let found = try names.first { try TokenReach(of: directory.profile(named: $0)).includes(address) }
            guard let found else {
                throw UsageError("No profile serves \(address). Run: \(Self.advice(profile, "serves+", served))")
            }
            let words = ["helper", "api-key", "--gateway", address, "--profile", found.text]
            (url, credential) = (address, .helper([home.command] + words))
            return
        }
        let found = try names.compactMap { try ForwardLines(directory.profile(named: $0)) }
            .first { $0.served.serves(served) }
        guard let found else {
            throw UsageError(
                "No profile passes requests on to \(address). Run: \(Self.advice(profile, "forward", served))"
            )
        }
        let record = try ForwardRecord.kept(for: found, in: directory)
        url = "http://127.0.0.1:\(record.port)\(gateway.path)"
        credential = .phantom(record.phantom)
    }

    private static func advice(_ profile: ProfileName?, _ line: String, _ address: ServedAddress) -> String {
        "identityctl profile set \(profile?.text ?? "NAME") \(line)=\(address.text)"
    }

    /// The notes for a person.
    func notes(_ home: Home) -> [String] {
        let hosts = url == address ? nil : ForwardRecipe.missingExceptions { home.environment[$0] }
        return ["A program that runs now reads this when it starts again."]
            + (hosts.map { ["Some programs would send this to your proxy. Set: no_proxy=\($0)"] } ?? [])
    }

    /// The setting of a program, for the doctor; `nil` if it is not this program's.
    ///
    /// - Parameter words: The phantom, or the words of the command that prints the token.
    static func use(of url: String, showing words: [String], in home: Home) -> IntegrationUse? {
        if words.count > 2, words[0].split(separator: "/").last == "identityctl", words[1...2] == ["helper", "api-key"]
        {
            let profile = words.firstIndex(of: "--profile").flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
            let obstacle = home.obstacle(toStarting: words[0])
            return IntegrationUse(
                label: url,
                profile: profile,
                options: ["--gateway", url, "--helper"],
                obstacle: obstacle
            )
        }
        guard let phantom = words.first, phantom.hasPrefix("fwd_"), let place = WebAddress(url), words.count == 1,
            let directory = try? ProfileDirectory(home.environment)
        else { return nil }
        guard let (lines, record) = ForwardRecord.route(at: place.origin, showing: phantom, in: directory) else {
            return IntegrationUse(
                label: url,
                problem: "No forwarder of a profile has this address. Remove it with --undo."
            )
        }
        let address = lines.address.origin + place.path
        var use = IntegrationUse(label: address, profile: lines.name.text, options: ["--gateway", address])
        if record.phantom != phantom || place.origin != "http://127.0.0.1:\(record.port)" {
            use.obstacle = "The forwarder has another port or phantom."
        }
        return use
    }
}

extension IntegratedTool {
    static let claudeCode = IntegratedTool(
        name: "claude-code",
        asks: .servers,
        hasGateway: true,
        start: MCPHostStart(revision: "2025-11-25")
    ) { home in
        // https://code.claude.com/docs/en/mcp, "user scope", and /settings, "user settings"
        let directory = home.environment["CLAUDE_CONFIG_DIR"]
        return ClaudeCodeIntegration(
            home: home,
            servers: MCPHostIntegration(
                home: home,
                path: "\(directory ?? home.path)/.claude.json",
                form: .typed,
                hasProjects: true,
                projectFile: ".mcp.json"
            ),
            path: "\(directory ?? "\(home.path)/.claude")/settings.json"
        )
    }
}

/// Claude Code has servers in one file, and its gateway among the settings in another.
struct ClaudeCodeIntegration: Integration {
    let home: Home
    let servers: MCPHostIntegration
    /// The file of the settings.
    let path: String

    private static let (url, token, helper) = ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "apiKeyHelper")
    private static let exceptions = ["no_proxy", "NO_PROXY"]

    var link: HelperLink? { nil }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        guard let gateway = subject.gateway else { return try await servers.adding(subject) }
        let file = try ConfigFile(path)
        var text = try JSONText(file)
        if use(in: text) != nil { removeGateway(from: &text) }
        var members = [(Self.url, gateway.url, ["env"])]
        switch gateway.credential {
        case .phantom(let phantom):
            members.append((Self.token, phantom, ["env"]))
            let known = home.environment["no_proxy"] ?? home.environment["NO_PROXY"]
            let hosts = ForwardRecipe.withoutProxy(beside: known)
            for name in Self.exceptions where !text.has(name, at: ["env"]) { members.append((name, hosts, ["env"])) }
        case .helper(let words): members.append((Self.helper, Home.line(words), []))
        }
        for (name, value, place) in members.reversed() {
            guard !text.has(name, at: place), place.isEmpty || !text.has("env") || text.object(at: place) != nil else {
                throw UsageError(
                    "\(path.printable) has '\(name)' already, which means something else. Remove it there."
                )
            }
            text.add(name, .string(value), at: place)
        }
        let names = members.map { $0.0 }.joined(separator: ", ")
        return IntegrationPlan(
            changes: text.bytes == file.bytes ? [] : [.write(file, text.bytes, "set \(names)")],
            notes: gateway.notes(home)
                + ["Claude Code turns off Remote Control with an address other than Anthropic's."]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        var plan = IntegrationPlan(changes: [])
        if subject?.gateway == nil { plan = try await servers.removing(subject) }
        let file = try ConfigFile(path)
        guard subject == nil || subject?.gateway != nil, file.bytes != nil else { return plan }
        var text = try JSONText(file)
        guard let use = use(in: text), subject?.gateway.map({ $0.address == use.label }) ?? true else { return plan }
        removeGateway(from: &text)
        plan.changes.append(.write(file, text.bytes, "remove what asks for \(use.label.printable)"))
        return plan
    }

    func uses() async throws -> [IntegrationUse] {
        let file = try ConfigFile(path)
        let gateway = file.bytes == nil ? nil : use(in: try JSONText(file))
        return try await servers.uses() + [gateway].compactMap(\.self)
    }

    private func use(in text: JSONText) -> IntegrationUse? {
        let variables = text.object(at: ["env"])
        guard let url = variables?.string(Self.url) else { return nil }
        if let token = variables?.string(Self.token) { return GatewayEntry.use(of: url, showing: [token], in: home) }
        let command = text.object(at: [])?.string(Self.helper) ?? ""
        return GatewayEntry.use(of: url, showing: command.split(separator: " ").map(String.init), in: home)
    }

    private func removeGateway(from text: inout JSONText) {
        if text.object(at: ["env"])?.string(Self.token) == nil { text.remove(Self.helper, at: []) }
        for name in Self.exceptions
        where text.object(at: ["env"])?.string(name)?.hasSuffix(ForwardRecipe.direct) == true {
            text.remove(name, at: ["env"])
        }
        for name in [Self.token, Self.url] { text.remove(name, at: ["env"]) }
    }
}
