// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TokenCommand {
    /// The command that `arguments` plainly mean, or `nil` where the argument parser had better say.
    ///
    /// The parser takes half of the time in which a cached token is handed out, most of it for looking at types while
    /// the program runs. Here are the plain forms only, `--name value` and `--name=value` with the names in full; for
    /// everything else, mistakes included, the parser is asked. It must mean the same, which a test compares.
    init?(quickly arguments: [String]) {
        guard arguments.first == "token" else { return nil }
        var values: [String: String] = [:]
        var scopes: [String] = []
        var flags: Set<String> = []
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else { return nil }
            if Self.flagNames.contains(argument) {
                flags.insert(argument)
                continue
            }
            let end = argument.firstIndex(of: "=")
            let name = String(argument[..<(end ?? argument.endIndex)])
            guard Self.optionNames.contains(name),
                let value = end.map({ String(argument[argument.index(after: $0)...]) }) ?? rest.popFirst(),
                !value.isEmpty, end != nil || !value.hasPrefix("-")
            else { return nil }
            if name == "--scope" { scopes.append(value) } else { values[name] = value }
        }

        var provider = ProviderOptions()
        provider.clientID = values["--client-id"]
        provider.authority = values["--authority"]
        provider.issuer = values["--issuer"]
        provider.authorizationEndpoint = values["--authorization-endpoint"]
        provider.tokenEndpoint = values["--token-endpoint"]
        provider.revocationEndpoint = values["--revocation-endpoint"]
        provider.deviceAuthorizationEndpoint = values["--device-authorization-endpoint"]
        provider.cache = values["--cache"]
        provider.defaultScopes = values["--default-scopes"]
        provider.clientCapabilities = values["--client-capabilities"]
        provider.group = values["--group"]
        var token = TokenOptions()
        token.scopes = scopes
        token.claims = values["--claims"]
        var account = AccountOption()
        account.account = values["--account"]
        var output = OutputOptions()
        output.json = flags.contains("--json")
        output.logLevel = values["--log-level"]
        self.init()
        self.provider = provider
        self.token = token
        self.account = account
        self.output = output
        forceRefresh = flags.contains("--force-refresh")
        minValidity = values["--min-validity"]
        idToken = flags.contains("--id-token")
        timeout = values["--timeout"]
    }

    private static let flagNames: Set<String> = ["--json", "--force-refresh", "--id-token"]
    private static let optionNames: Set<String> = [
        "--client-id", "--authority", "--issuer", "--device-authorization-endpoint", "--cache", "--group", "--scope",
        "--claims", "--account", "--log-level", "--default-scopes", "--client-capabilities", "--min-validity",
        "--timeout", "--authorization-endpoint", "--token-endpoint", "--revocation-endpoint",
    ]
}
