// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

/// The lines of a profile, against the options of all commands.
@Suite struct ProfileLinesTests {
    /// The options that belong to one call: a profile's line would be wrong for the others.
    private static let ofOneCall: [String: Set] = [
        "login": ["finish", "grant", "grant-parameter-file", "mcp", "record", "start"],
        "token": ["format", "nonce", "output", "record", "request", "watch"],
        "logout": ["all", "discard", "everywhere"],
        "accounts": ["all", "default", "support"], "setup": ["domain", "integrate", "name"],
        "ssh-certificate": ["output"],
        "exchange": ["actor-token-file", "actor-token-type", "record", "subject-token-file", "subject-token-type"],
        "exec": ["companion", "detached", "env", "forward-at", "token-file"],
        "import": ["device-secret", "device-secret-type", "from", "refresh-token-file"],
        "call": ["data", "header", "include", "method", "output", "upload", "verbose"],
        "mcp": ["more", "page", "renew", "refused"],
    ]

    /// The names whose value may be any text.
    private static let free: Set = [
        "account", "acr-values", "agent-audience", "agent-scope", "audience", "browser", "client-capabilities",
        "client-id",
        "client-secret", "default-scopes", "domain-hint", "login-hint", "prompt", "requested-scope", "require-amr",
        "scope", "ui-locales",
        "username",
    ]

    private static let providers: Set = ["authority", "issuer", "authorization-endpoint", "token-endpoint"]

    /// The long names of the options of each command for a client, from the help for programs.
    private func options() throws -> [String: Set<String>] {
        let help = try JSONObject(parsing: Array(Identityctl._dumpHelp().utf8), maximumDepth: 100)
        func objects(_ object: JSONObject, _ name: String) -> [JSONObject] {
            (object.array(name) ?? []).compactMap { if case .object(let object) = $0 { object } else { nil } }
        }
        var options: [String: Set<String>] = [:]
        for command in objects(try #require(help.object("command")), "subcommands") {
            let names = objects(command, "arguments").flatMap { objects($0, "names") }
            options[command.string("commandName") ?? ""] =
                Set(names.filter { $0.string("kind") == "long" }.compactMap { $0.string("name") })
        }
        return options.filter { $0.value.contains("client-id") }
    }

    @Test func haveEachOptionButThoseOfOneCall() throws {
        let commands = try options()
        #expect(commands.count > 6)
        for (command, options) in commands {
            let missing = options.subtracting(Profile.names).subtracting(["help", "profile", "version"])
            #expect(missing == Self.ofOneCall[command, default: []], "\(command)")
        }
    }

    /// `profile add` and `profile edit` check them so.
    @Test(arguments: Profile.names.sorted()) func areCheckedAtOnce(name: String) throws {
        let base = Self.providers.contains(name) ? "" : "issuer = https://a.test\n"
        let text = "client-id = c\n\(base)\(name) = a/b\n"
        let path = "/p/work.conf"
        let lines = Array(text.split(separator: "\n").filter { name != "client-id" || $0 != "client-id = c" })
        let bytes = Array(lines.joined(separator: "\n").utf8)
        let profile = try Profile(try #require(ProfileName("work")), path: path, parsing: bytes)
        guard !Self.free.contains(name) else { return try ProfileCheck.check(profile, Variables([:])) }
        let refusal = #expect(throws: UsageError.self) { try ProfileCheck.check(profile, Variables([:])) }
        #expect(refusal?.message.hasPrefix("\(path):\(lines.count): ") == true, "\(refusal?.message ?? "")")
    }

    @Test func leavesTheRoleToAnOption() throws {
        let text =
            "client-id = c\nissuer = https://a.test\naws-region = eu-central-1\nparameter = a=b c\nparameter = d=e"
        let profile = try Profile(try #require(ProfileName("work")), path: "/p", parsing: Array(text.utf8))
        try ProfileCheck.check(profile, Variables([:]))
        let environment = Variables([:]).above(profile)
        #expect(
            try SignInOptions.parse([]).parameters(.parse([]), environment).extraQueryItems == ["a": "b c", "d": "e"]
        )
        let given = try SignInOptions.parse(["--parameter", "f=g"]).parameters(.parse([]), environment)
        #expect(given.extraQueryItems == ["f": "g"])
    }
}
