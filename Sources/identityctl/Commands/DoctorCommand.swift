// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityKeyring

/// What this machine offers.
struct DoctorCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Says what this computer has for signing in, and what to do about what it lacks.",
        discussion: """
            Nothing is changed, nobody is asked, and no browser is opened. With --authority or --issuer the provider is \
            asked for the time. Ends with status 0, or with that of the first lack: 8 browser or display, 4 keyring or \
            token files, 3 network, 5 clock.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var browser: BrowserOption
    @OptionGroup var output: OutputOptions

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
        var findings = Examination.browser(.current(browserCommand: command))
        let keyring = KeyringTokenCache(applicationName: "identityctl")
        findings += Examination.keyring(try await Self.outcome { try await keyring.status() })
        findings.append(try await tokenStore(session, choice))
        let files = FileTokenCache(directory: choice.directory)
        findings.append(Examination.files(Result { try files.inspect() }))
        let transport = CurlTransport()
        findings.append(Examination.curl(try await Self.outcome { try await CurlTransport.libraryVersion() }))
        guard let authority else {
            return findings + [.unknown("clock", "not compared: give --authority or --issuer")]
        }
        let theirs = try await Self.outcome {
            try await ProviderClock.seconds(
                of: authority,
                over: transport,
                deadline: .seconds(10),
                logger: session.logger
            )
        }
        return findings + [Examination.clock(theirs, ours: Int64(Date.now.timeIntervalSince1970))]
    }

    /// Where the tokens of the program rest that is meant, if one is.
    private func tokenStore(_ session: Session, _ choice: CacheChoice) async throws -> Finding {
        guard choice.policy != nil else {
            return Examination.tokenStore(.success(choice.directory == nil ? .memory : .file))
        }
        guard let group = try provider.group(session.environment) else {
            return .unknown("token store", "not asked: give --client-id or --group")
        }
        let cache = CacheChoice.desktop(.standard, logger: session.logger)
        return Examination.tokenStore(try await Self.outcome { try await cache.rememberedStore(of: group) })
    }

    /// What `work` gave, or why it failed; a cancelled task ends the command.
    private static func outcome<Value>(_ work: () async throws -> Value) async throws -> Result<Value, any Error> {
        do {
            return .success(try await work())
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return .failure(error)
        }
    }
}

/// The command is done, and everything is said: only the status is left to tell.
struct Ended: Error {
    let status: ExitStatus
}
