// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TokenCommand {
    /// Creates the command that `arguments` plainly mean, or returns `nil` to leave them to the argument parser.
    ///
    /// The parser takes half of the time of handing out a cached token, most of it for looking at types at run time.
    /// This initializer reads only the plain forms `--name value` and `--name=value` with full names. The parser reads
    /// everything else, mistakes and the options for a file included. A test checks that both give the same command.
    init?(quickly arguments: [String]) {
        guard arguments.first == "token" else { return nil }
        var groups = OptionGroups(
            provider: ProviderOptions(),
            token: TokenOptions(),
            account: AccountOption(),
            scheme: SchemeOption(),
            silent: SilentOptions(),
            output: OutputOptions()
        )
        for setting in Setting.ofToken { groups.clear(setting) }
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else { return nil }
            let end = argument.firstIndex(of: "=")
            guard let setting = Self.settings[String(argument[..<(end ?? argument.endIndex)])] else { return nil }
            if setting.kind == .switch {
                guard end == nil else { return nil }
                groups.add("", to: setting)
                continue
            }
            guard let value = end.map({ String(argument[argument.index(after: $0)...]) }) ?? rest.popFirst(),
                !value.isEmpty, end != nil || !value.hasPrefix("-")
            else { return nil }
            groups.add(value, to: setting)
        }
        var signedRequest = SignedRequestOptions()
        signedRequest.request = nil
        signedRequest.nonce = nil
        var file = TokenFileOptions()
        file.output = nil
        file.watch = false
        var record = RecordOption()
        record.record = nil
        guard let provider = groups.provider, let token = groups.token, let account = groups.account,
            let silent = groups.silent, let scheme = groups.scheme, let output = groups.output
        else { return nil }
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

    private static let settings = Dictionary(
        uniqueKeysWithValues: Setting.ofToken.lazy.filter { $0.name != "scheme" }.map { ($0.option, $0) }
    )
}
