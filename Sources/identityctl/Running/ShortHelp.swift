// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The first page of a command's help: two examples, and the options that most people need.
struct ShortHelp {
    /// The option in place of which the argument parser knows `--help`.
    static let wholeOption = "--help-all"

    private let examples: [String]
    /// The names of the options that are shown; empty for all.
    private let options: Set<String>

    private static let client: Set = ["profile", "client-id", "issuer", "authority", "json"]

    // A row for each command, by its words after `identityctl`.
    private static let all: [String: ShortHelp] = [
        "setup": ShortHelp(
            examples: ["setup", "setup gitlab --client-id ID --integrate git"],
            options: client.subtracting(["profile"]).union([
                "domain", "name", "integrate", "cache", "device-code", "manual",
            ])
        ),
        "login": ShortHelp(
            examples: [
                "login --issuer https://id.example.com --client-id ID", "login --resource https://api.example.com/mcp",
            ],
            options: client.union(["resource", "scope", "account", "if-needed", "device-code", "manual"])
        ),
        "token": ShortHelp(
            examples: ["token --profile work", "token --profile work --output /run/user/1000/api.token --watch"],
            options: client.union(["scope", "account", "id-token", "output", "watch"])
        ),
        "exec": ShortHelp(
            examples: [
                "exec --env GITLAB_TOKEN -- glab mr list", "exec --token-file -- ./long-job",
                "exec --forward claude-code --profile models -- claude",
            ],
            options: client.union(["scope", "account", "env", "token-file", "forward", "min-validity"])
        ),
        "call": ShortHelp(
            examples: [
                "call https://api.example.com/me", "call https://api.example.com/notes --data '{\"text\":\"Milk\"}'",
            ],
            options: client.union(["scope", "data", "upload", "header", "output"])
        ),
        "mcp": ShortHelp(
            examples: [
                "mcp https://api.example.com/mcp", "mcp https://api.example.com/mcp --account alice@example.com",
            ],
            options: ["profile", "account", "scope", "cache"]
        ),
        "exchange": ShortHelp(
            examples: [
                "exchange --audience billing --requested-scope invoices.read",
                "exchange --subject-token-file assertion --subject-token-type saml2 --audience billing",
            ],
            options: client.union([
                "account", "audience", "requested-resource", "requested-scope", "subject-token-file",
            ])
        ),
        "userinfo": ShortHelp(
            examples: ["userinfo --profile work", "userinfo --json | jq -r .email"],
            options: client.union(["account", "timeout"])
        ),
        "introspect": ShortHelp(
            examples: ["introspect --profile work", "introspect --scope orders.read --json"],
            options: client.union(["account", "scope", "timeout"])
        ),
        "ssh-certificate": ShortHelp(
            examples: [
                "ssh-certificate --profile azure --public-key ~/.ssh/azure.pub",
                "ssh-certificate --profile azure --public-key ~/.ssh/azure.pub --output -",
            ],
            options: client.union(["account", "public-key", "output", "force-refresh", "min-validity"])
        ),
        "registration list": ShortHelp(
            examples: ["registration", "registration show https://api.example.com/mcp"]
        ),
        "registration remove": ShortHelp(
            examples: [
                "registration remove https://api.example.com/mcp", "registration remove https://api.example.com/",
            ],
            options: ["cache", "json"]
        ),
        "accounts": ShortHelp(
            examples: ["accounts --all", "accounts --profile work --default alice@example.com"],
            options: client.union(["all", "default", "support"])
        ),
        "logout": ShortHelp(
            examples: ["logout --profile work", "logout --account alice@example.com --revoke --end-session"],
            options: client.union(["account", "all", "revoke", "end-session", "discard"])
        ),
        "import": ShortHelp(
            examples: ["import --from azure-cli --profile work", "import --refresh-token-file FILE --profile work"],
            options: client.union(["from", "refresh-token-file", "device-secret", "account", "cache"])
        ),
        "agent run": ShortHelp(
            examples: ["agent &", "agent --profile work --socket PATH"],
            options: client.union(["socket", "ignore-screen", "log-level"])
        ),
        "forward run": ShortHelp(examples: ["forward &", "forward --profile models --log-level info"]),
        "forward address": ShortHelp(examples: ["forward address models", "forward address models --show-phantom"]),
        "forward connect": ShortHelp(
            examples: ["forward connect /run/user/1000/models.sock --listen 127.0.0.1:8410"]
        ),
        "cache show": ShortHelp(examples: ["cache", "cache --json"], options: client.union(["group"])),
        "cache move": ShortHelp(
            examples: ["cache move --to keyring", "cache move --to encrypted:key-file=PATH"],
            options: client.union(["to", "group"])
        ),
        "cache create-key": ShortHelp(
            examples: ["cache create-key ~/.config/identityctl/token.key", "cache create-key --pass-phrase PATH"]
        ),
        "profile add": ShortHelp(
            examples: [
                "profile add work --preset gitlab --client-id ID",
                "profile add work --issuer https://id.example.com --client-id ID --scope email",
            ],
            options: [
                "preset", "domain", "client-id", "issuer", "authority", "scope", "serves", "set", "replace", "json",
            ]
        ),
        "profile set": ShortHelp(examples: ["profile set work scope=email", "profile set work sign-in=when-needed"]),
        "profile unset": ShortHelp(examples: ["profile unset work scope", "profile unset work login-hint prompt"]),
        "integrate": ShortHelp(
            examples: ["integrate git --profile work", "integrate git --undo"],
            options: ["profile", "serves", "resource", "gateway", "name", "sign-in", "undo", "dry-run", "json"]
        ),
        "doctor": ShortHelp(
            examples: ["doctor", "doctor --without-browser --issuer https://id.example.com"],
            options: client.union(["without-browser", "browser", "cache", "group"])
        ),
        "register-scheme": ShortHelp(
            examples: ["register-scheme com.example.app", "register-scheme com.example.app --remove"]
        ),
    ]

    private init(examples: [String], options: Set<String> = []) {
        self.examples = examples
        self.options = options
    }

    /// Returns the first page of a command's help; the help as it is if the command has no row.
    static func firstPage(of help: String) -> String {
        var lines = help.split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard let usage = lines.first(where: { $0.hasPrefix("USAGE: identityctl ") }) else { return help }
        let words = usage.split(separator: " ").dropFirst(2).prefix {
            $0.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }
        }
        if words.isEmpty { return pageOfTool(lines) }
        guard let row = all[words.joined(separator: " ")] ?? words.first.flatMap({ all[String($0)] }),
            let start = lines.firstIndex(where: { $0.hasPrefix("OPTIONS:") })
        else { return help }
        let name = "identityctl \(words.joined(separator: " "))"
        var page = Array(lines[..<start])
        // The discussion is on the second page.
        if let end = page.firstIndex(where: \.isEmpty), let usage = page.firstIndex(where: { $0.hasPrefix("USAGE:") }),
            end < usage
        {
            page.removeSubrange(end + 1..<usage)
        }
        page.append("EXAMPLES:")
        page += row.examples.map { "  identityctl \($0)" }
        page += ["", "OPTIONS:"]
        lines = lines[(start + 1)...]
        var (isShown, left) = (true, 0)
        for line in lines {
            if line.hasPrefix("  -") {
                isShown = row.shows(line)
                if !isShown { left += 1 }
            } else if !line.hasPrefix("   ") {
                isShown = true
            }
            // What is indented by eight is more about the option.
            let isMore = line.hasPrefix("        ") && !line.hasPrefix("         ")
            if isShown, !isMore { page.append(line) }
        }
        while page.last?.isEmpty == true { page.removeLast() }
        if left > 0 { page += ["", "\(left) more options, and more about these: \(name) \(wholeOption)"] }
        return page.joined(separator: "\n")
    }

    /// Returns the first page of the tool's own help: examples, and the commands in groups.
    private static func pageOfTool(_ help: ArraySlice<Substring>) -> String {
        let end = " SUBCOMMANDS:"
        let examples = ["setup", "token --profile work", "integrate git --profile work"]
        var page = [
            help.prefix { !$0.isEmpty }.joined(separator: " "), "", "USAGE: identityctl COMMAND [OPTION...]", "",
        ]
        page += ["EXAMPLES:"] + examples.map { "  identityctl \($0)" } + [""]
        let groups = help.drop { !$0.hasSuffix(end) }.filter { !$0.hasPrefix("  See ") }
        page += groups.map { $0.hasSuffix(end) ? "\($0.dropLast(end.count)):" : String($0) }
        while page.last?.isEmpty == true { page.removeLast() }
        page += [
            "", "More: 'identityctl COMMAND --help', and 'identityctl --help-all' for the exit statuses. Manuals:",
            "man identityctl-guide, identityctl-symptoms, identityctl-integrations, identityctl-token (and so on)",
        ]
        return page.joined(separator: "\n")
    }

    private func shows(_ line: Substring) -> Bool {
        guard !options.isEmpty else { return true }
        // Two spaces end the names.
        let label = line.dropFirst(2).split(separator: "  ", maxSplits: 1).first ?? ""
        let names = label.split { $0 == " " || $0 == "," }
        return names.contains { $0 == "--help" || options.contains(String($0.dropFirst(2))) }
    }
}
