// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TokenCommand {
    /// Creates the command that `arguments` plainly mean, or returns `nil` to leave them to the argument parser.
    ///
    /// The parser takes half of the time of handing out a cached token, most of it for looking at types at run time.
    /// This initializer reads only the plain forms `--name value` and `--name=value` with full names. The parser reads
    /// everything else, mistakes and the options for a file included. A test checks that both give the same command.
    init?(quickly arguments: [String]) {
        guard arguments.first == "token" else { return nil }
        var values: [String: String] = [:]
        var scopes: [String] = []
        var tokenParameters: [String] = []
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
            switch name {
            case "--scope": scopes.append(value)
            case "--token-parameter": tokenParameters.append(value)
            default: values[name] = value
            }
        }

        var provider = ProviderOptions()
        provider.clientID = values["--client-id"]
        provider.authority = values["--authority"]
        provider.issuer = values["--issuer"]
        provider.authorizationEndpoint = values["--authorization-endpoint"]
        provider.tokenEndpoint = values["--token-endpoint"]
        provider.revocationEndpoint = values["--revocation-endpoint"]
        provider.deviceAuthorizationEndpoint = values["--device-authorization-endpoint"]
        provider.idTokenAlgorithms = values["--id-token-algorithms"]
        provider.cache = values["--cache"]
        provider.defaultScopes = values["--default-scopes"]
        provider.tokenParameters = tokenParameters
        provider.clientCapabilities = values["--client-capabilities"]
        provider.broker = values["--broker"]
        provider.extendedLifetime = flags.contains("--extended-lifetime")
        provider.instanceAware = flags.contains("--instance-aware")
        provider.group = values["--group"]
        provider.profile = values["--profile"]
        var token = TokenOptions()
        token.scopes = scopes
        token.claims = values["--claims"]
        var account = AccountOption()
        account.account = values["--account"]
        var silent = SilentOptions()
        silent.forceRefresh = flags.contains("--force-refresh")
        silent.cacheOnly = flags.contains("--cache-only")
        silent.allowExpired = flags.contains("--allow-expired")
        silent.minValidity = values["--min-validity"]
        silent.idToken = flags.contains("--id-token")
        silent.timeout = values["--timeout"]
        var scheme = SchemeOption()
        scheme.scheme = nil
        var signedRequest = SignedRequestOptions()
        signedRequest.request = nil
        signedRequest.nonce = nil
        var file = TokenFileOptions()
        file.output = nil
        file.watch = false
        var record = RecordOption()
        record.record = nil
        var output = OutputOptions()
        output.json = flags.contains("--json")
        output.logLevel = values["--log-level"]
        self.init()
        self.provider = provider
        self.token = token
        self.account = account
        self.silent = silent
        self.scheme = scheme
        self.signedRequest = signedRequest
        self.file = file
        self.record = record
        self.output = output
    }

    private static let flagNames: Set<String> = [
        "--json", "--allow-expired", "--cache-only", "--extended-lifetime", "--force-refresh", "--id-token",
        "--instance-aware",
    ]
    private static let optionNames = Set(ProviderOptions.named.map { "--\($0.name)" }).union([
        "--scope", "--claims", "--account", "--log-level", "--min-validity", "--timeout",
        "--token-parameter",
    ])
}
