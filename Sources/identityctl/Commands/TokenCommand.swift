// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

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
    var sharedOptions: SharedOptions { SharedOptions(provider, token, account, scheme) }

    func advice(on error: any Error, in session: Session) -> String? { SilentOptions.advice(on: error) }

    /// Prints a token that stands in a file and is good for long enough: without a deadline, a watch for signals and other
    /// threads, for which the callers of a helper would wait at each start.
    func answersAtOnce(in session: Session) async throws -> Bool {
        let environment = session.environment
        guard session.recording == nil, try scheme.chosen(environment) != .pop, try !file.isGiven,
            session.route.agent == nil
        else { return false }
        guard signedRequest.request == nil, try provider.dpopPolicy(environment) == .off else { return false }
        try signedRequest.checkIsUnused()
        let wanted = try WantedToken(token, account, silent, environment)
        let source = ApplicationSource(application: try session.application(provider))
        guard let result = try await source.stored(wanted) else { return false }
        session.warn(of: HandedToken(result: result), wanted)
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
        let token = try await ShortLifeWarning(base: source, session: session).token(wanted)
        if let report = token.report { return try session.write(token, report) }
        let isPersistent = !(session.made?.configuration.cache is InMemoryTokenCache)
        try await session.write(token.result, token.idToken, isPersistent: isPersistent)
    }
}
