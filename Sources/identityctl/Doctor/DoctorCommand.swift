// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityKeyring
import Logging
import OAuthWire

/// The command that examines what this machine offers for sign-ins.
struct DoctorCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks this computer's means for signing in, and gives advice.",
        discussion: """
            The command changes nothing, asks no question, opens no browser, and sends no refresh token. If a provider is \
            named, the command reads its published configuration and compares the clocks; with --broker, it asks the identity \
            broker for its version. Each profile has a line, unless one or a client is named. Each tool that asks identityctl \
            for tokens ('identityctl integrate') has a line, and so have a scheme ('register-scheme'), the agent of \
            IDENTITYCTL_AGENT and a profile with a line 'forward'. The status is 0, or that of the first lack: 8 browser or display, 4 keyring, its key, token \
            files or agent, 3 network, 5 an answer that is not believed, or the clock, 2 a sign-in has ended, or that of a tool \
            is missing, 64 a line or file that cannot be used, 1 a helper does not lead here.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The address of an API: each step from there to a token is tried, and nothing else.",
            valueName: "url"
        )
    )
    var url: String?

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var browser: BrowserOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not require a browser or a display: you sign in with --manual or --device-code.")
    var withoutBrowser = false

    var clientOptions: ProviderOptions? { provider }

    /// A profile that cannot be used is a finding.
    func route(_ variables: Variables, _ lines: ProfileLines) throws -> TokenRoute {
        (try? TokenRoute(provider, variables, lines)) ?? TokenRoute(variables: variables)
    }

    func run(in session: Session) async throws {
        let findings =
            if let url {
                try await ResourceExamination(provider: provider, address: url, session: session).findings()
            } else {
                try await findings(session)
            }
        try session.result(session.isJSON ? findings.json.line + "\n" : findings.table)
        if findings.status != .done { throw Ended(status: findings.status) }
    }

    /// A part of the examination, with a name for what cannot be looked at. With an agent elsewhere, local parts are not needed.
    private typealias Subject = (check: String, isLocal: Bool, look: () async throws -> [Finding])

    private func findings(_ session: Session) async throws -> [Finding] {
        let environment = session.environment
        let agent = session.route.agent
        var isElsewhere = false
        if let agent { isElsewhere = await AgentClient.isForwarded(agent) }
        let keyring = KeyringTokenCache(applicationName: "identityctl")
        let status = try await Self.outcome { try await keyring.status() }
        let profiles = try await profiles(session, status)
        let own = try await ownStore(session, status, beside: profiles)
        let subjects: [Subject] = [
            (
                "profile", true,
                {
                    _ = try TokenRoute(provider, environment.above(nil), session.lines); return []
                }
            ),
            ("variables", true, { Self.mistyped(environment) }),
            ("browser", true, { try browsers(environment) }),
            (
                "keyring", true,
                {
                    let findings = Examination.keyring(status, busAnswers: await keyring.reachesBus())
                    let isNeeded = own?.needsKeyring == true || profiles.contains(where: \.needsKeyring)
                    return isNeeded ? findings : findings.map { $0.notNeeded("by the stores in use") }
                }
            ),
            ("token store", true, { (own.map { [$0.finding] } ?? []) + profiles.map(\.finding) }),
            ("token files", true, { try files(environment, profiles) }),
            ("agent", false, { try await Self.agent(agent) }),
            ("forwarder", false, { try await ForwardExamination.findings(environment) }),
            (
                "libcurl", false,
                { [Examination.curl(try await Self.outcome { try await CurlTransport.libraryVersion() })] }
            ),
            ("identity broker", false, { try await broker(environment) }),
            ("provider", false, { try await examineProviders(environment, profiles, session.logger) }),
            ("scheme", true, { try SchemeExamination.findings(environment) }),
            ("tools", false, { try await IntegrationExamination(session)?.findings() ?? [] }),
        ]
        var findings: [Finding] = []
        var mistakes: [Finding] = []
        for subject in subjects {
            switch try await Self.outcome(subject.look) {
            case .success(let found):
                findings += subject.isLocal && isElsewhere ? found.map { $0.notNeeded("with the agent") } : found
            case .failure(let error):
                mistakes.append(.lack(subject.check, "it cannot be used", error))
            }
        }
        // One mistake is in the way of several, and is said once: by a profile's finding, if it stands in one.
        for mistake in mistakes where !findings.contains(where: { $0.advice == mistake.advice }) {
            findings.insert(mistake, at: 0)
        }
        return findings
    }

    private static func mistyped(_ environment: Variables) -> [Finding] {
        MistypedVariable.all(in: environment).map { wrong in
            let advice = "Did you mean \(wrong.meant)? Set that in its place."
            return .lack("variable", "\(wrong.name) is none of this tool's", advice, .usage)
        }
    }

    private func browsers(_ environment: Variables) throws -> [Finding] {
        let findings = Examination.browser(.current(browserCommand: try browser.command(environment)))
        let isManual = try environment.isOn("without-browser", withoutBrowser)
        return isManual ? findings.map { $0.notNeeded("with --manual or --device-code") } : findings
    }

    /// The profiles, unless a client or a profile is named, or an agent has them.
    private func profiles(_ session: Session, _ keyring: Result<KeyringStatus, any Error>) async throws
        -> [ExaminedProfile]
    {
        let environment = session.environment
        guard !provider.namesOne(environment), try environment.given("profile", provider.profile) == nil,
            session.route.agent == nil
        else { return [] }
        let directory = try? ProfileDirectory(environment)
        return try await ProfilesExamination(session: session, keyring: keyring, directory: directory).profiles()
    }

    /// The store of the client that is named, or of the usual one where there are no profiles.
    private func ownStore(
        _ session: Session,
        _ keyring: Result<KeyringStatus, any Error>,
        beside profiles: [ExaminedProfile]
    ) async throws -> (finding: Finding, needsKeyring: Bool)? {
        let client = ClientExamination(
            options: provider,
            environment: session.environment,
            session: session,
            keyring: keyring
        )
        let found = try await Self.outcome { () -> (TokenLocation?, Finding)? in
            let isNamed = try provider.group(session.environment) != nil || profiles.isEmpty
            return isNamed ? try await client.tokenStore() : nil
        }
        switch found {
        case .success(let found): return found.map { ($0.1, $0.0?.needsKeyring ?? true) }
        case .failure(let error): return (.lack("token store", "it cannot be used", error), false)
        }
    }

    /// A finding on each directory in use.
    private func files(_ environment: Variables, _ profiles: [ExaminedProfile]) throws -> [Finding] {
        var directories = [try provider.cacheChoice(environment).directory]
        for directory in profiles.compactMap(\.directory) where !directories.contains(directory) {
            directories.append(directory)
        }
        return directories.map { directory in
            Examination.files(Result { try FileTokenCache(directory: directory).inspect() })
        }
    }

    private static func agent(_ socket: Given?) async throws -> [Finding] {
        guard let socket else { return [] }
        let status = try await outcome { try await AgentClient(socket: socket).ask(.status) }
        return [Examination.agent(at: socket.text, status)]
    }

    private func broker(_ environment: Variables) async throws -> [Finding] {
        switch try provider.brokerUse(environment) {
        case .off: []
        case .whenAvailable(let broker):
            [Examination.broker(try await Self.outcome(broker.information), isRequired: false)]
        case .required(let broker):
            [Examination.broker(try await Self.outcome(broker.information), isRequired: true)]
        }
    }

    /// A finding on the provider that is named, or else on those of all profiles, each once.
    private func examineProviders(
        _ environment: Variables,
        _ profiles: [ExaminedProfile],
        _ logger: Logger
    ) async throws -> [Finding] {
        let own = Result { try ReachableProvider(provider, environment) }
        // What is wrong with a profile is said by its finding.
        var providers = [try profiles.isEmpty ? own.get() : try? own.get()].compactMap(\.self)
        for other in profiles.compactMap(\.provider)
        where !providers.contains(where: { $0.authority.url == other.authority.url }) {
            providers.append(other)
        }
        guard !providers.isEmpty else {
            let unasked = "not asked: give --profile, --authority or --issuer"
            return [.unknown("provider", unasked), .unknown("clock", unasked)]
        }
        var findings: [Finding] = []
        for provider in providers {
            findings += try await examine(provider.authority, over: provider.transport, logger)
        }
        return findings
    }

    private func examine(_ authority: Authority, over transport: CurlTransport, _ logger: Logger) async throws
        -> [Finding]
    {
        let published = try await Self.outcome {
            try await ProviderInspection.check(authority, over: transport, deadline: Self.timeout, logger: logger)
        }
        let theirs = try await Self.outcome {
            try await ProviderClock.seconds(of: authority, over: transport, deadline: Self.timeout, logger: logger)
        }
        let ours = Int64(Date.now.timeIntervalSince1970)
        // A server that publishes nothing is asked for the time at its token endpoint, and that it answers is enough.
        if case (.success(false), .failure(let error as AuthenticationError)) = (published, theirs),
            .network ~= error.code
        {
            return [.lack("provider", authority.url, error), Examination.clock(theirs, ours: ours)]
        }
        return [Examination.provider(authority, published), Examination.clock(theirs, ours: ours)]
    }

    private static let timeout = Duration.seconds(10)

    /// Returns the result of `work`, or the error that it threw. A cancelled task ends the command.
    static func outcome<Value>(_ work: () async throws -> Value) async throws -> Result<Value, any Error> {
        do {
            return .success(try await work())
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return .failure(error)
        }
    }
}

/// The provider's time.
enum ProviderClock {
    /// Fetches the provider's configuration, or of a provider without one what it says at its token endpoint, and returns the
    /// answer's `Date` in seconds since 1970, or `nil` if there is none.
    ///
    /// - Throws: errors of the family `.network` if no answer came, `.serverUnavailable` if the server failed,
    ///   `CancellationError`.
    static func seconds(
        of authority: Authority,
        over transport: any HTTPTransport,
        deadline: Duration,
        logger: Logger?
    ) async throws -> Int64? {
        let url = authority.configurationURLs.first ?? authority.url
        let (response, _) = try await EndpointClient(transport: transport, deadline: deadline).get(
            url,
            context: RequestContext(correlationID: nil, logger: logger),
            authority: authority
        )
        guard response.status.code < 500 else {
            throw AuthenticationError(
                .serverUnavailable,
                "The provider answered with status \(response.status.code). Try again later."
            )
        }
        return response.headerFields[.date].flatMap { HTTPDate.parse($0) }
    }
}
