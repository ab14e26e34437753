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
            Each tool that asks identityctl for tokens ('identityctl integrate') has a line, and so has the agent of \
            IDENTITYCTL_AGENT. The status is 0, or that of the first lack: 8 browser or display, 4 keyring, its key, token \
            files or agent, 3 network, 5 an answer that is not believed, or the clock, 2 the profile of a tool is not signed \
            in, 1 a helper's name does not lead here.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var browser: BrowserOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Count no browser and no display as a lack: you sign in with --manual or --device-code.")
    var withoutBrowser = false

    var clientOptions: ProviderOptions? { provider }

    func run(in session: Session) async throws {
        let findings = try await findings(session)
        try session.result(session.isJSON ? findings.json.line + "\n" : findings.table)
        if findings.status != .done { throw Ended(status: findings.status) }
    }

    private func findings(_ session: Session) async throws -> [Finding] {
        let environment = session.environment
        let command = try browser.command(environment)
        let choice = try provider.cacheChoice(environment)
        let authority = try provider.authority(environment)
        let isManual = try environment.isOn("without-browser", withoutBrowser)
        var findings = Examination.browser(.current(browserCommand: command))
        if isManual { findings = findings.map { $0.notNeeded("with --manual or --device-code") } }
        let keyring = KeyringTokenCache(applicationName: "identityctl")
        let status = try await Self.outcome { try await keyring.status() }
        let keyringFindings = Examination.keyring(status, busAnswers: await keyring.reachesBus())
        let (store, storeFinding) = try await tokenStore(session, choice, status)
        let needsKeyring = store?.needsKeyring ?? true
        findings += needsKeyring ? keyringFindings : keyringFindings.map { $0.notNeeded("by this store") }
        findings.append(storeFinding)
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
        findings += try await provider(authority, session.logger)
        return findings + (try await IntegrationExamination(session)?.findings() ?? [])
    }

    private func provider(_ authority: Authority?, _ logger: Logger) async throws -> [Finding] {
        guard let authority else {
            let unasked = "not asked: give --authority or --issuer"
            return [.unknown("provider", unasked), .unknown("clock", unasked)]
        }
        let transport = CurlTransport()
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

    /// Returns the store of the program's tokens, if it is known, and a finding on whether the store can be read.
    private func tokenStore(
        _ session: Session,
        _ choice: CacheChoice,
        _ status: Result<KeyringStatus, any Error>
    ) async throws -> (TokenStore?, Finding) {
        if let shared = try await sharedStore(session, choice, status) { return shared }
        guard choice.policy != nil else {
            let store = choice.directory == nil ? TokenStore.memory : .file
            return (store, Examination.tokenStore(store, .success(false)))
        }
        guard let group = try provider.group(session.environment) else {
            guard let (store, key) = choice.keyStore else {
                return (nil, .unknown("token store", "not asked: give --client-id or --group"))
            }
            return (store, Examination.tokenStore(store, try await Self.outcome { try await key.isProtected() }))
        }
        let cache = CacheChoice.desktop(.standard, logger: session.logger)
        let remembered = try await Self.outcome { try await cache.rememberedStore(of: group) }
        // If the store is not known, the finding says why.
        guard case .success(let store) = remembered, let store = store ?? choice.keyStore?.store else {
            return (nil, Examination.tokenStore(nil, remembered.map { _ in false }))
        }
        let read = try await Self.outcome {
            if store.needsKeyring { try Self.requireAnswer(status) }
            if let key = store.keyFile, try await key.isProtected() { return true }
            try await cache.checkReadable(store, in: group)
            return false
        }
        return (store, Examination.tokenStore(store, read, SharedOptions(provider)))
    }

    /// Throws the keyring's error if the keyring did not answer in time. It is not waited for a second time.
    private static func requireAnswer(_ status: Result<KeyringStatus, any Error>) throws {
        if case .failure(let error) = status, (error as? AuthenticationError)?.code == .keyringTimedOut { throw error }
    }

    /// Returns the store, if it is shared with other programs, and a finding on whether it can be read.
    private func sharedStore(
        _ session: Session,
        _ choice: CacheChoice,
        _ status: Result<KeyringStatus, any Error>
    ) async throws -> (TokenStore?, Finding)? {
        let store: TokenStore
        switch choice {
        case .shared: store = .file
        case .sharedItem: store = .keyring
        default: return nil
        }
        let client = try provider.clientID ?? session.environment.given("client-id", nil)?.text ?? ""
        let clientID = ClientID(rawValue: client)
        let read = try await Self.outcome {
            if store.needsKeyring { try Self.requireAnswer(status) }
            let cache = try choice.cache(of: clientID, prompting: .never, passPhrases: nil, logger: session.logger)
            _ = try await cache.records(of: .account, in: .application(clientID))
            return false
        }
        return (store, Examination.tokenStore(store, read))
    }

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

/// The end of a command that has written everything and has only its exit status left to return.
struct Ended: Error {
    let status: ExitStatus
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
