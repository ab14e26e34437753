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
            The command changes nothing, asks no question, and opens no browser. If a provider is named, the command reads \
            its published configuration and compares the clocks; with --broker, it asks the identity broker for its version. \
            Each profile has a line, unless one or a client is named. Each tool that asks identityctl for tokens ('identityctl integrate') has a line, and so has the agent of \
            IDENTITYCTL_AGENT. The status is 0, or that of the first lack: 8 browser or display, 4 keyring, its key, token \
            files or agent, 3 network, 5 an answer that is not believed, or the clock, 2 the profile of a tool is not signed \
            in, 1 a helper's name does not lead here.
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

    private func findings(_ session: Session) async throws -> [Finding] {
        let environment = session.environment
        let command = try browser.command(environment)
        let choice = try provider.cacheChoice(environment)
        let isManual = try environment.isOn("without-browser", withoutBrowser)
        var findings = Examination.browser(.current(browserCommand: command))
        if isManual { findings = findings.map { $0.notNeeded("with --manual or --device-code") } }
        let keyring = KeyringTokenCache(applicationName: "identityctl")
        let status = try await Self.outcome { try await keyring.status() }
        let keyringFindings = Examination.keyring(status, busAnswers: await keyring.reachesBus())
        let profiles = try await profiles(session, status)
        let client = ClientExamination(options: provider, environment: environment, session: session, keyring: status)
        let isNamed = try provider.group(environment) != nil || profiles.isEmpty
        let own = isNamed ? try await client.tokenStore() : nil
        let needsKeyring = own.map { $0.0?.needsKeyring ?? true } == true || profiles.contains(where: \.needsKeyring)
        findings += needsKeyring ? keyringFindings : keyringFindings.map { $0.notNeeded("by the stores in use") }
        if let own { findings.append(own.1) }
        findings += profiles.map(\.finding)
        let files = FileTokenCache(directory: choice.directory)
        findings.append(Examination.files(Result { try files.inspect() }))
        if let socket = try environment.given("agent", nil) {
            // The sign-ins and the tokens of an agent on another machine are there.
            if await AgentSocket.isForwarded(socket) { findings = findings.map { $0.notNeeded("with the agent") } }
            let status = try await Self.outcome { try await AgentClient(socket: socket).ask(.status) }
            findings.append(Examination.agent(at: socket.text, status))
        }
        findings.append(Examination.curl(try await Self.outcome { try await CurlTransport.libraryVersion() }))
        switch try provider.brokerUse(environment) {
        case .off: break
        case .whenAvailable(let broker):
            findings.append(Examination.broker(try await Self.outcome(broker.information), isRequired: false))
        case .required(let broker):
            findings.append(Examination.broker(try await Self.outcome(broker.information), isRequired: true))
        }
        let providers = try providers(environment, profiles)
        for provider in providers {
            findings += try await examine(provider.authority, over: provider.transport, session.logger)
        }
        if providers.isEmpty {
            let unasked = "not asked: give --profile, --authority or --issuer"
            findings += [.unknown("provider", unasked), .unknown("clock", unasked)]
        }
        return findings + (try await IntegrationExamination(session)?.findings() ?? [])
    }

    private typealias ExaminedProfile = (finding: Finding, needsKeyring: Bool, provider: ReachableProvider?)
    private typealias ReachableProvider = (authority: Authority, transport: CurlTransport)

    /// Looks at all profiles, unless a client or a profile is named, or an agent has them.
    private func profiles(
        _ session: Session,
        _ keyring: Result<KeyringStatus, any Error>
    ) async throws -> [ExaminedProfile] {
        let environment = session.environment
        guard !provider.namesOne(environment), try environment.given("profile", provider.profile) == nil,
            try environment.given("agent", nil) == nil
        else { return [] }
        let examination = ProfilesExamination(session: session, keyring: keyring)
        var examined: [ExaminedProfile] = []
        for (name, environment) in try examination.environments() {
            let (finding, needsKeyring) = try await examination.finding(name, environment)
            // A mistake in the profile is told by its finding.
            let provider = try? Self.provider(ProviderOptions.parse([]), environment.get())
            examined.append((finding, needsKeyring, provider))
        }
        return examined
    }

    /// Returns the provider that is named, or else those of all profiles, each once.
    private func providers(_ environment: Environment, _ profiles: [ExaminedProfile]) throws -> [ReachableProvider] {
        var providers = [try Self.provider(provider, environment)].compactMap(\.self)
        for other in profiles.compactMap(\.provider)
        where !providers.contains(where: { $0.authority.url == other.authority.url }) {
            providers.append(other)
        }
        return providers
    }

    private static func provider(_ options: ProviderOptions, _ environment: Environment) throws -> ReachableProvider? {
        try options.authority(environment).map { ($0, try options.transport(environment)) }
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
    /// Fetches the provider's configuration and returns the answer's `Date` in seconds since 1970, or `nil` if there is
    /// none.
    ///
    /// - Throws: `.network` and its second levels if no answer came, `.serverUnavailable` if the server failed,
    ///   `CancellationError`.
    static func seconds(
        of authority: Authority,
        over transport: any HTTPTransport,
        deadline: Duration,
        logger: Logger?
    ) async throws -> Int64? {
        guard let url = authority.configurationURLs.first else { return nil }
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
