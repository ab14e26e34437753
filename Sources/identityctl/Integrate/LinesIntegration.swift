// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import SystemSupport

/// A tool that is set up by lines of a text file, because it has no command for them.
struct LinesIntegration: Integration {
    let tool: IntegratedTool
    let home: Home
    let link: HelperLink?
    /// The tool's file in the person's home.
    let path: String
    /// Returns the lines for a subject, and what a person should know.
    let lines: @Sendable (IntegrationSubject) throws -> (lines: [String], notes: [String])
    /// Whether a line of the person's own stands in the way of a line of these.
    let conflicts: @Sendable (_ other: String, _ own: String) -> Bool
    /// The lines that stay as long as there are others.
    var common: [String] = []
    /// Returns the setting that a line makes.
    let use: @Sendable (String) -> IntegrationUse?
    /// Whether another tool uses the same link.
    var isLinkShared: @Sendable () async throws -> Bool = { false }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: tool.rawValue)
        let (wanted, notes) = try lines(subject)
        var missing: [String] = []
        for line in wanted + common where !(content.lines + missing).contains(line) {
            // The same line is as good, but a section must not be there twice.
            let isSame = content.others.contains(line) && !line.hasPrefix("[")
            if let other = content.others.first(where: { conflicts($0, line) }), !isSame {
                throw UsageError(
                    "\(path.printable) has the line '\(other.printable)'. Change it yourself, so that it means: \(line)"
                )
            }
            if !isSame { missing.append(line) }
        }
        content.lines += missing
        return IntegrationPlan(
            changes: try (link?.making() ?? [])
                + (missing.isEmpty ? [] : [.write(file, content.bytes, "add \(missing.joined(separator: "; "))")]),
            notes: notes + [link?.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: tool.rawValue)
        let unwanted = try subject.map { try lines($0).lines } ?? content.lines
        let before = content.lines
        content.lines.removeAll { unwanted.contains($0) }
        if content.lines.allSatisfy(common.contains) { content.lines = [] }
        let removed = before.filter { !content.lines.contains($0) }
        var isNeeded = !content.lines.isEmpty
        if !isNeeded { isNeeded = try await isLinkShared() }
        return IntegrationPlan(
            changes: (removed.isEmpty ? [] : [.write(file, content.bytes, "remove \(removed.joined(separator: "; "))")])
                + (isNeeded ? [] : link?.removing() ?? [])
        )
    }

    func uses() async throws -> [IntegrationUse] {
        try MarkedLines(try ConfigFile(path), of: tool.rawValue).lines.compactMap(use)
    }
}

extension LinesIntegration {
    /// Cargo asks this program first, and then its own store, for each registry without a provider of its own.
    ///
    /// - SeeAlso: [Configuration](https://doc.rust-lang.org/cargo/reference/config.html#registryglobal-credential-providers)
    static func cargo(in home: Home) -> LinesIntegration {
        let directory = home.environment["CARGO_HOME"] ?? "\(home.path)/.cargo"
        // Cargo prefers the older name if both files are there.
        let older = "\(directory)/config"
        let name = "cargo-credential-identityctl"
        let line = #"registry.global-credential-providers = ["cargo:token", "\#(name)"]"#
        return LinesIntegration(
            tool: .cargo,
            home: home,
            link: HelperLink(name, home),
            path: unsafe access(older, F_OK) == 0 ? older : "\(directory)/config.toml",
            lines: { _ in
                (
                    [line],
                    [
                        "A registry in your configuration that names a 'credential-provider' asks that one, and not identityctl.",
                        IntegrationPlan.forAll,
                    ]
                )
            },
            conflicts: { other, _ in hasRegistryTable(other) },
            use: { _ in IntegrationUse(label: "the registries that a profile serves", isForAll: true) }
        )
    }

    /// Whether a line of TOML has to do with the table `registry`, which must not be defined twice.
    static func hasRegistryTable(_ line: String) -> Bool {
        let isHeader = line.drop { $0 == " " || $0 == "\t" }.first == "["
        let rest = line.drop { " \t[\"'".contains($0) }
        guard rest.hasPrefix("registry") else { return false }
        let next = rest.dropFirst("registry".count).drop { " \t\"'".contains($0) }
        if isHeader { return next.first == "." || next.first == "]" }
        // In a table of a source, 'registry' is an address.
        return next.first == "."
            || (next.first == "=" && next.dropFirst().first(where: { $0 != " " && $0 != "\t" }) == "{")
    }

    /// - SeeAlso: [Bazel](https://bazel.build/reference/command-line-reference), `--credential_helper`
    static func bazel(in home: Home) -> LinesIntegration {
        let name = "bazel-credential-identityctl"
        let option = "common --credential_helper="
        return LinesIntegration(
            tool: .bazel,
            home: home,
            link: HelperLink(name, home),
            path: "\(home.path)/.bazelrc",
            lines: { subject in
                let hosts = subject.addresses.compactMap(bazelHost)
                let left = subject.addresses.filter { bazelHost($0) == nil }
                guard !hosts.isEmpty else {
                    throw UsageError("Bazel asks for hosts such as build.example.com, and the profile serves none.")
                }
                return (
                    hosts.map { "\(option)\($0)=\(name)" },
                    left.map { "Bazel asks for whole hosts with a period in their name, so not for \($0.text)." }
                )
            },
            conflicts: { other, own in
                own.hasPrefix(option)
                    && other.contains("--credential_helper=\(own.dropFirst(option.count).prefix { $0 != "=" })=")
            },
            // Bazel ends a helper after 10 s, also one that is about to store a new refresh token.
            common: ["common --credential_helper_timeout=40s"],
            use: { line in
                guard line.hasPrefix(option) else { return nil }
                let host = line.dropFirst(option.count).prefix { $0 != "=" }
                return IntegrationUse(label: "https://\(host)", isForAll: true)
            }
        )
    }

    /// The host as Bazel's option takes it; `nil` if Bazel never asks for the address alone, or refuses to start with such a
    /// name.
    private static func bazelHost(_ address: ServedAddress) -> Substring? {
        guard address.depth == 0, address.text.hasPrefix("https://") else { return nil }
        let host = address.text.dropFirst("https://".count).prefix { $0 != ":" }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy { !$0.isEmpty && $0.utf8.areAlphanumeric(or: "-") } ? host : nil
    }

    /// - SeeAlso: [pnpm](https://pnpm.io/npmrc), `tokenHelper`
    static func pnpm(in home: Home) -> LinesIntegration {
        let link = HelperLink("pnpm-token-identityctl", home)
        let key = ":tokenHelper="
        return LinesIntegration(
            tool: .pnpm,
            home: home,
            link: link,
            path: [
                "pnpm_config_npmrc_auth_file", "PNPM_CONFIG_NPMRC_AUTH_FILE", "pnpm_config_userconfig",
                "PNPM_CONFIG_USERCONFIG", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG",
            ].compactMap { home.environment[$0] }.first ?? "\(home.path)/.npmrc",
            lines: { subject in
                let program = link.isFound ? home.find(link.name) ?? link.path : link.path
                let special = Array("\"'`#;$%\\={}".utf8)
                guard program.utf8.areVisible, !program.utf8.contains(where: special.contains) else {
                    throw UsageError("pnpm's configuration cannot name \(program.printable).")
                }
                if let profile = subject.profile {
                    guard try ProfileDirectory(home.environment).usualName() == profile else {
                        throw UsageError(
                            "pnpm names no address and gets the default profile's token. Make it the default one: "
                                + "identityctl profile default \(profile)"
                        )
                    }
                }
                return (
                    subject.addresses.map { "\(registry($0))\(key)\(program)" },
                    ["pnpm compares no scheme: a package's address with http gets the token in clear text."]
                )
            },
            conflicts: { other, own in
                guard let end = own.firstRange(of: key)?.lowerBound else { return false }
                let registry = own[..<end]
                return ["_authToken", "_auth", "tokenHelper", "username"].contains {
                    other.filter { $0 != " " }.hasPrefix("\(registry):\($0)=")
                }
            },
            use: { line in
                let registry = line.firstRange(of: key).map { line[..<$0.lowerBound] } ?? line[...]
                // With an agent, which has the profiles, its default one gives the token.
                let isHere = home.environment[Environment.variable(for: "agent")] == nil
                let profile = isHere ? (try? ProfileDirectory(home.environment).usualName())?.text : nil
                let lack = "pnpm gets the default profile's token, and there is none: identityctl profile default NAME"
                return IntegrationUse(
                    label: String(registry),
                    profile: profile,
                    problem: isHere && profile == nil ? lack : nil
                )
            }
        )
    }

    /// The address as npm's configuration names a registry: without its scheme, with a slash at the end.
    private static func registry(_ address: ServedAddress) -> String {
        (address.text.firstIndex(of: ":").map { String(address.text[$0...].dropFirst()) } ?? "") + "/"
    }

    private static let shortDuration =
        "aws-duration is below 1800: AWS's programs then run the helper, and ask AWS, at nearly each request."

    /// AWS's command can set the line, and cannot remove it.
    ///
    /// - SeeAlso: [credential_process](https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-sourcing-external.html)
    static func aws(in home: Home) -> LinesIntegration {
        let key = "credential_process = "
        return LinesIntegration(
            tool: .aws,
            home: home,
            link: nil,
            path: home.environment["AWS_CONFIG_FILE"] ?? "\(home.path)/.aws/config",
            lines: { subject in
                let profile = subject.profile?.text ?? ""
                let named = subject.profile.flatMap { try? ProfileDirectory(home.environment).profile(named: $0) }
                let seconds = named?.given("aws-duration").flatMap { Int($0.text) }
                let isHere = home.environment[Environment.variable(for: "agent")] == nil
                let hasRole = named?.given("aws-role-arn") != nil
                return (
                    [
                        "[profile identityctl-\(profile)]",
                        "\(key)\(home.command.shellWord) helper aws --profile \(profile)",
                    ],
                    [
                        hasRole || !isHere
                            ? "The role is in the line aws-role-arn of the profile '\(profile)'."
                            : "The profile has no role yet. Add a line 'aws-role-arn = ARN': identityctl profile edit \(profile)",
                        "To use it, run: aws --profile identityctl-\(profile) sts get-caller-identity",
                    ] + (seconds.map { $0 < 1800 } == true ? [shortDuration] : [])
                )
            },
            conflicts: { other, own in own.hasPrefix("[") && other.filter { $0 != " " } == own.filter { $0 != " " } },
            use: { line in
                guard line.hasPrefix(key), let profile = line.split(separator: " ").last.map(String.init) else {
                    return nil
                }
                return IntegrationUse(label: "identityctl-\(profile)", profile: profile)
            }
        )
    }

    /// - SeeAlso: [uv](https://docs.astral.sh/uv/reference/settings/#keyring-provider), `keyring-provider`
    static func uv(in home: Home) -> LinesIntegration {
        let line = #"keyring-provider = "subprocess""#
        return LinesIntegration(
            tool: .uv,
            home: home,
            link: HelperLink("keyring", home),
            path: "\(home.configuration)/uv/uv.toml",
            lines: { _ in ([line], [KeyringNote.username, IntegrationPlan.forAll]) },
            conflicts: { other, _ in other.drop { " \t\"'".contains($0) }.hasPrefix("keyring-provider") },
            use: { _ in IntegrationUse(label: KeyringNote.label, isForAll: true) },
            isLinkShared: { try await PipIntegration(home: home).isSet() }
        )
    }
}

/// The texts for both pip and uv, which ask the same helper.
enum KeyringNote {
    static let label = "the indexes that a profile serves"
    static let username = "Put a username into the index's address, such as https://oauth2@pypi.example.com/simple/."
}
