// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension IntegratedTool {
    static let codex = IntegratedTool(name: "codex", asks: .servers, hasGateway: true, start: .codex) {
        LinesIntegration.codex(in: $0)
    }
}

extension MCPHostStart {
    static let codex = MCPHostStart(
        seconds: 75,
        variables: [
            "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "SSL_CERT_FILE", "TMPDIR", "USER",
        ] + LinesIntegration.passedOn
    )
}

extension LinesIntegration {
    /// The variables that Codex passes on by their names. It starts a server with few of them.
    fileprivate static let passedOn =
        [
            "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "BROWSER",
            "SSH_CONNECTION", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ] + ["agent", "profile", "sign-in", "browser", "proxy", "ca-file"].map(Variables.variable)

    /// Returns the texts of a line until the end of a list. Those of commands are written as in JSON.
    private static func words(in line: String) -> [String] {
        let parts = line.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        let end = parts.indices.first { $0 % 2 == 0 && parts[$0].contains(UInt8(ascii: "]")) } ?? parts.endIndex
        return parts.indices.filter { $0 % 2 == 1 && $0 < end }.map { String(Substring(parts[$0])) }
    }

    /// The key of the gateway's line.
    private static let gateway = "model_providers.identityctl"

    /// The lines that have Codex ask a gateway: the provider of its models, and the choice of it.
    private static func lines(_ gateway: GatewayEntry) -> [String] {
        let text = { (text: String) in JSONValue.string(text).jsonText }
        let credential =
            switch gateway.credential {
            case .phantom(let phantom): "http_headers = { x-api-key = \(text(phantom)) }"
            case .helper(let words):
                "auth = { command = \(text(words[0])), args = [\(words.dropFirst().map(text).joined(separator: ", "))] }"
            }
        let url = text(gateway.url)
        return [
            "model_provider = \"identityctl\"",
            "\(Self.gateway) = { name = \"identityctl\", base_url = \(url), wire_api = \"responses\", \(credential) }",
        ]
    }

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
                if let gateway = subject.gateway { return (lines(gateway), gateway.notes(home)) }
                guard let server = subject.server else { return ([], []) }
                // A string of JSON is one of TOML.
                func list(_ words: [String]) -> String {
                    "[\(words.map { JSONValue.string($0).jsonText }.joined(separator: ", "))]"
                }
                let values = home.placesOfSignIns.map { "\($0.name) = \(JSONValue.string($0.value).jsonText)" }
                let items =
                    [
                        "command = \(JSONValue.string(home.command).jsonText)", "args = \(list(server.arguments))",
                        "env_vars = \(list(passedOn))", "startup_timeout_sec = \(MCPHostStart.codex.seconds)",
                    ] + (values.isEmpty ? [] : ["env = { \(values.joined(separator: ", ")) }"])
                return (["\(key)\(server.name) = { \(items.joined(separator: ", ")) }"], [])
            },
            conflicts: { other, own in
                let key = own.prefix { $0 != " " }
                let plain = other.filter { !" \t\"'\r".contains($0) }
                guard let table = key.split(separator: ".").first, table != key else {
                    return plain.hasPrefix("\(key)=")
                }
                return ["[\(table)]", "[\(key)]"].contains(plain) || plain.hasPrefix("\(table)=")
                    || ["=", "."].contains { plain.hasPrefix("\(key)\($0)") || plain.hasPrefix("[\(key)\($0)") }
            },
            use: { line in
                // The line's own quotes are those of JSON.
                if line.hasPrefix("\(gateway) ") {
                    // Its name, the address, the protocol, and the phantom or the command.
                    let words = words(in: line)
                    return words.count < 4
                        ? nil : GatewayEntry.use(of: words[1], showing: Array(words.dropFirst(3)), in: home)
                }
                guard line.hasPrefix(key) else { return nil }
                let name = line.dropFirst(key.count).prefix { $0 != " " }
                let words = words(in: line)
                return MCPServerEntry(name: String(name), words: words)?.use(startedBy: words[0], in: home)
            },
            usesOfPerson: { lines in
                // Each table goes to the next one.
                let tables = lines.indices.filter { lines[$0].hasPrefix("[") } + [lines.endIndex]
                return zip(tables, tables.dropFirst()).compactMap { start, end in
                    let name = lines[start].dropFirst().prefix { $0 != "]" }
                    let texts = ["command", "args"].flatMap { key in
                        lines[start..<end].first { $0.hasPrefix(key) }.map { words(in: $0) } ?? []
                    }
                    guard name.hasPrefix(key),
                        let entry = MCPServerEntry(name: String(name.dropFirst(key.count)), words: texts)
                    else { return nil }
                    var use = entry.use(startedBy: texts[0], in: home)
                    // The table is the person's own.
                    use.problem = use.obstacle.map { "\($0) Correct the command of the table [\(name)]." }
                    use.obstacle = nil
                    return use
                }
            },
            replacesSameUse: true
        )
    }
}
