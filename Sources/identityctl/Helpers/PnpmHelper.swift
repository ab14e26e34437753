// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension Helper {
    static let pnpm = Helper(
        name: "pnpm",
        link: "pnpm-token-identityctl",
        help: "'helper pnpm' is for pnpm.",
        answer: .call { call, session in
            let token = try await call.source(in: session).anyToken(in: session)
            try session.result("Bearer \(token.text)\n")
        }
    )
}

extension IntegratedTool {
    static let pnpm = IntegratedTool(name: "pnpm") { LinesIntegration.pnpm(in: $0) }
}

extension LinesIntegration {
    /// - SeeAlso: [pnpm](https://pnpm.io/npmrc), `tokenHelper`
    static func pnpm(in home: Home) -> LinesIntegration {
        let link = HelperLink(.pnpm, home)
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
                let mark = line.firstRange(of: key)
                // With an agent, which has the profiles, its default one gives the token.
                let isHere = home.environment[Variables.variable(for: "agent")] == nil
                let profile = isHere ? (try? ProfileDirectory(home.environment).usualName())?.text : nil
                let lack = "pnpm gets the default profile's token, and there is none: identityctl profile default NAME"
                return IntegrationUse(
                    label: String(line[..<(mark?.lowerBound ?? line.endIndex)]),
                    profile: profile,
                    obstacle: mark.flatMap { home.obstacle(toStarting: String(line[$0.upperBound...])) },
                    problem: isHere && profile == nil ? lack : nil
                )
            },
            replacesSameUse: true
        )
    }

    /// The address as npm's configuration names a registry: without its scheme, with a slash at the end.
    private static func registry(_ address: ServedAddress) -> String {
        (address.text.firstIndex(of: ":").map { String(address.text[$0...].dropFirst()) } ?? "") + "/"
    }
}
