// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire

/// The command that returns a token without a sign-in.
struct TokenCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints an access token without a question: from the cache, or refreshed.",
        discussion: """
            Ends with status 2 when a person has to sign in; then run 'identityctl login'.

            With --output, a file gets the token, without a line end. With --watch as well, it is kept fresh until a signal \
            ends the command, and then removed. systemd is told when the file is there (Type=notify).

            With --scheme pop, the Authorization header of one request is printed, signed with a key that is kept with the \
            tokens: a token that is bound to a key is of no use without it.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var silent: SilentOptions
    @OptionGroup var scheme: SchemeOption
    @OptionGroup var signedRequest: SignedRequestOptions
    @OptionGroup var file: TokenFileOptions
    @OptionGroup var record: RecordOption
    @OptionGroup var output: OutputOptions

    var clientOptions: ProviderOptions? { provider }
    var asksAgent: Bool { true }
    func recording() throws -> Recording? { try record.recording(of: "token") }

    var readsSignIns: Bool { true }
    var sharedOptions: SharedOptions { provider.shared(token, account, scheme) }

    func advice(on error: any Error, in session: Session) -> String? { SilentOptions.advice(on: error) }

    /// Prints a token that stands in a file and is good for long enough: without a deadline, a watch for signals and other
    /// threads, for which the callers of a helper would wait at each start.
    func answersAtOnce(in session: Session) async throws -> Bool {
        let environment = session.environment
        guard session.recording == nil, try scheme.chosen(environment) != .pop, try !file.isGiven,
            signedRequest.request == nil, signedRequest.nonce == nil, try provider.dpopPolicy(environment) == .off,
            let source = try session.ownSource(provider, for: "token")
        else { return false }
        let wanted = try WantedToken(token, account, silent, environment)
        let result: AuthenticationResult
        do {
            guard let found = try await source.stored(wanted) else { return false }
            result = found
        } catch AuthenticationError.Code.interactionRequired {
            return false  // a line 'sign-in' may allow to ask the person
        }
        session.warn(of: HandedToken(result: result), wanted)
        try await session.bindProfile(to: result.account)
        try await session.write(result, isPersistent: true)
        return true
    }

    func run(in session: Session) async throws {
        if session.recording != nil, session.route.agent != nil {
            throw UsageError("--record: the agent exchanges nothing here. Unset IDENTITYCTL_AGENT.")
        }
        let isBound = try provider.dpopPolicy(session.environment) != .off
        if try scheme.chosen(session.environment) == .pop || isBound && signedRequest.request != nil {
            return try await writeHeader(in: session)
        }
        try signedRequest.checkIsUnused()
        if try file.isGiven { return try await write(in: session) }
        let wanted = try WantedToken(token, account, silent, session.environment)
        let source = try session.source(provider, for: "token", reuses: true)
        let token = try await acquire(wanted, from: ShortLifeWarning(base: source, session: session), in: session)
        if let report = token.report { return try session.write(token, report) }
        let isPersistent = !(session.made?.configuration.cache is InMemoryTokenCache)
        try await session.write(token.result, token.idToken, isPersistent: isPersistent)
    }
}

extension TokenCommand {
    /// Acquires the token. Where the profile has a line `sign-in = when-needed`, a sign-in at this desktop comes first if one is
    /// needed: mail programs and others run this command, and no helper.
    private func acquire(
        _ wanted: WantedToken,
        from source: any TokenSource,
        in session: Session
    ) async throws -> HandedToken {
        guard let profile = session.environment.profile, profile.isNamed, profile.own("sign-in") != nil else {
            return try await source.token(wanted)
        }
        let login = sharedOptions.replacing("--profile", with: profile.name.text)
        return try await session.token(wanted, from: source, under: session.environment, signingInBy: login)
    }

    /// Writes the token into a file, and keeps it fresh if that is wanted.
    func write(in session: Session) async throws {
        let file = TokenFile(
            try self.file.path(),
            isLocked: self.file.watch,
            try self.file.text(session.environment)
        )
        let wanted = try WantedToken(token, account, silent, session.environment)
        let source = try session.source(provider, for: "token")
        guard self.file.watch else {
            try file.check()
            try file.write(try await session.firstToken(wanted, source).text)
            if session.isJSON { try session.done("The token is in \(file.path.printable).") }
            return
        }
        guard try !session.environment.isOn("cache-only", silent.cacheOnly) else {
            throw UsageError("--cache-only: a token that is kept fresh is renewed. Leave out --watch.")
        }
        session.hideMemory()
        var isReady = false
        let manager = session.environment["NOTIFY_SOCKET"]
        let keeper = TokenKeeper(file, wanted, source, endsOnLastingErrors: true, in: session) {
            sentence(on: $0, in: session)
        }
        do {
            try await keeper.run { token in
                await session.warn(ofFirst: token, wanted)
                isReady = true
                try session.done(
                    "The token is in \(file.path.printable), and is renewed. A signal ends this, and removes the file."
                )
                ServiceNotification.send("READY=1", to: manager)
            }
        } catch  where isReady && Task.isCancelled {
            // A signal ends the watch in good order.
        }
        ServiceNotification.send("STOPPING=1", to: manager)
    }
}

extension TokenCommand {
    /// Prints the `Authorization` header of one signed request.
    func writeHeader(in session: Session) async throws {
        let environment = session.environment
        try scheme.checkWorksWithoutAgent(environment)
        if try file.isGiven { throw UsageError("--output: a header for one request is printed, and not kept.") }
        let request = try signedRequest.signed()
        var wanted = try WantedToken(token, account, silent, environment)
        guard !wanted.isIDToken else { throw UsageError("--id-token: an ID token signs no requests.") }
        wanted.scheme = try scheme.chosen(environment)
        wanted.provesKey = true
        let application = try session.application(provider)
        let source = ApplicationSource(application: application, console: session.console)
        let result = try await ShortLifeWarning(base: source, session: session).token(wanted).result
        _ = await session.isStored(result)
        if result.scheme == .dpop {
            var request = request
            try result.authorize(&request, nonce: signedRequest.nonce)
            let fields = [("Authorization", HTTPField.Name.authorization), ("DPoP", .dpop)].map { text, name in
                (text, request.headerFields[name] ?? "")
            }
            let json = JSONObject(fields.map { ($0.0, .string($0.1)) })
            return try session.result(
                session.isJSON ? json.line + "\n" : fields.map { "\($0.0): \($0.1)\n" }.joined()
            )
        }
        let header = try result.authorizationHeader(for: request, nonce: signedRequest.nonce)
        try session.result(
            session.isJSON ? JSONReport.header(header, of: result).line + "\n" : header + "\n"
        )
    }
}

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
        file.format = nil
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
