// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityKeyring
import IdentityResources
import Logging
import OAuthWire
import SystemSupport

// The one place where a route becomes a source of tokens.
extension Session {
    /// Returns the source of the token.
    ///
    /// - Parameters:
    ///   - route: Whose token; `nil` for the command's own route.
    ///   - command: The name that an agent shows to its person.
    ///   - asksPassPhrases: Whether the pass phrase of a key file is asked for. Callers that are programs have no terminal.
    ///   - reuses: Whether the application object that was made before serves again: what it reads may be a pipe.
    /// - Throws: `UsageError`.
    func source(
        _ options: ProviderOptions,
        _ route: TokenRoute? = nil,
        for command: String,
        asksPassPhrases: Bool = true,
        reuses: Bool = false
    ) throws -> any TokenSource {
        let isOwn = route == nil
        let route = route ?? self.route
        if let other = try otherSource(options, route, for: command) { return other }
        let application =
            try (reuses ? made : nil)
            ?? application(options, under: route.variables, asksPassPhrases: asksPassPhrases)
        let source = RegisteredClient(
            base: IDTokens(base: ApplicationSource(application: application, console: console)),
            session: self,
            variables: route.variables,
            authority: application.configuration.authority
        )
        return isOwn ? ProfileBinding(base: source, session: self) : source
    }

    /// Returns the token; where a line `sign-in` allows it, after a sign-in at this desktop.
    ///
    /// - Parameters:
    ///   - login: The options of the command that signs in.
    ///   - onNeed: Called before a person is asked.
    func token(
        _ wanted: WantedToken,
        from source: any TokenSource,
        under variables: Variables,
        signingInBy login: SharedOptions,
        onNeed: (AuthenticationError) -> Void = { _ in }
    ) async throws -> HandedToken {
        try await Asking.result(try wanted.usesCacheOnly ? .never : .ofHelper(variables)) {
            try await source.token(wanted)
        } signingIn: { error in
            onNeed(error)
            guard let directory = try ProfileDirectory(variables).signInPath(of: variables.profile) else { throw error }
            let signIn = DesktopSignIn(login: login) { variables[$0] != nil }
            try await signIn.run(inTurn: SignInTurn(directory: directory), after: error, console) {
                do {
                    _ = try await source.token(wanted)
                    return true
                } catch AuthenticationError.Code.interactionRequired {
                    return false
                }
            }
        }
    }

    /// The sources in place of the cache and the provider, a line for each.
    private func otherSource(
        _ options: ProviderOptions,
        _ route: TokenRoute,
        for command: String
    ) throws -> (any TokenSource)? {
        if let agent = route.agent { return try AgentSource(agent, options, route, for: command) }
        return nil
    }

    /// Returns the cache and the provider, for a caller that needs more of them than tokens; `nil` if another source is in their
    /// place.
    ///
    /// - Throws: `UsageError`.
    func ownSource(_ options: ProviderOptions, for command: String) throws -> ApplicationSource? {
        guard try otherSource(options, route, for: command) == nil else { return nil }
        return ApplicationSource(application: try application(options), console: console)
    }

    /// Returns the application object that options and lines describe, for a command that needs more of it than tokens.
    ///
    /// - Parameters:
    ///   - environment: The variables and lines; `nil` for the command's own.
    ///   - prompting: Whether the person is asked to unlock the keyring.
    ///   - isOne: Whether it is the command's only one.
    ///   - change: Changes the configuration.
    /// - Throws: `UsageError`, and the errors of `change`.
    func application(
        _ options: ProviderOptions,
        under environment: Variables? = nil,
        asksPassPhrases: Bool = true,
        prompting: KeyringPrompting = .never,
        isOne: Bool = true,
        changing change: (inout ClientConfiguration) throws -> Void = { _ in }
    ) throws -> PublicClientApplication {
        var configuration = try options.configuration(
            environment ?? self.environment,
            prompting: prompting,
            passPhrases: asksPassPhrases ? passPhrases : nil,
            logger: logger
        )
        try change(&configuration)
        return try application(configuration, isOne: isOne)
    }

    /// Keeps other programs from the memory of this process, in which refresh tokens stay. With an agent there are none, and
    /// the agent sees which program asks.
    func hideMemory() {
        if route.agent == nil { _ = SystemCall.hideMemory() }
    }

    /// Returns a token for a program or a file, and warns if it is good for a shorter time than wanted, or could not be stored.
    ///
    /// - Throws: Also `UsageError` for a token with other characters than a variable, a file or a header may hold.
    func firstToken(_ wanted: WantedToken, _ source: any TokenSource) async throws -> HandedToken {
        let token = try await source.token(wanted).checked()
        await warn(ofFirst: token, wanted)
        return token
    }

    /// Warns of the first token, after which others may follow.
    func warn(ofFirst token: HandedToken, _ wanted: WantedToken) async {
        warn(of: token, wanted)
        if token.report == nil { _ = await isStored(token.result) }
    }

    /// Warns of a token that is good for a shorter time than wanted, or lacks a scope that asks for claims.
    func warn(of token: HandedToken, _ wanted: WantedToken) {
        console.warn(ofShortLife: token.left(at: .now), below: wanted.minimumValidity)
        if token.report == nil { warn(ofClaimsMissingIn: token.result, wanting: wanted.scopes) }
    }
}

extension Session {
    /// Writes a token, plainly or as JSON, and warns if it could not be stored.
    ///
    /// - Parameters:
    ///   - idToken: The ID token to write in place of the access token, or beside it in JSON.
    ///   - isPersistent: Whether the cache outlives the program.
    func write(_ result: AuthenticationResult, _ idToken: IDToken? = nil, isPersistent: Bool) async throws {
        let isStored = await isStored(result)
        noteClient(after: result)
        if isJSON {
            var report = JSONReport.result(result, persisted: isStored && isPersistent)
            if let idToken {
                report["idToken"] = .string(idToken.text)
                report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
            }
            try self.result(report.line + "\n")
        } else {
            try self.result((idToken?.text ?? result.accessToken) + "\n")
        }
    }

    /// Writes a token that an agent gave, plainly or with the agent's report as JSON.
    func write(_ token: HandedToken, _ report: JSONObject) throws {
        guard isJSON else { return try result(token.text + "\n") }
        var report = report
        report["accessToken"] = .string(token.result.accessToken)
        if let idToken = token.idToken { report["idToken"] = .string(idToken.text) }
        try result(report.line + "\n")
    }

    /// Returns whether the tokens are stored, and warns if they are not.
    func isStored(_ result: AuthenticationResult) async -> Bool {
        guard let failure = await storageFailure(of: result) else { return true }
        let reason = PlainReport.withReference(failure.ofAWrite)
        console.line("Warning: the tokens could not be kept for the next time. \(reason)")
        return false
    }

    /// Tries once more to store the tokens, and returns the error if they are still not stored.
    func storageFailure(of result: AuthenticationResult) async -> AuthenticationError? {
        guard case .failed(let failure) = result.persistence, await !finishPendingWork() else { return nil }
        return failure
    }
}

extension AuthenticationError {
    /// The message about tokens that were not stored. Of a keyring that cannot be read, it also says that the sign-in in it stays;
    /// that says nothing about new tokens.
    var messageOfAWrite: String {
        message.replacing("; there is no need to sign in again", with: "")
            .replacing(" There is no need to sign in again.", with: "")
    }

    /// The same error with the message about tokens that were not stored.
    var ofAWrite: AuthenticationError {
        AuthenticationError(code, messageOfAWrite, correlationID: correlationID, underlyingError: underlyingError)
    }
}

extension Session {
    /// Notes what an error says of the client that this tool registered.
    ///
    /// - Parameter variables: Those above the client's lines; `nil` for the command's own.
    func noteClient(after error: any Error, under variables: Variables? = nil) {
        guard let error = error as? AuthenticationError,
            error.isOfForgottenClient || .clientNotRegistered ~= error.code,
            let profile = (variables ?? environment).profile
        else { return }
        try? KnownResources(environment).noteForgotten(profile)  // only 'doctor' and the next page miss it
    }

    /// Notes that the client is known, if its server gave the token.
    func noteClient(after result: AuthenticationResult) {
        guard result.source == .identityProvider, let profile = environment.profile else { return }
        try? KnownResources(environment).noteKnown(profile)
    }

    /// Returns the error that asks for a sign-in where a server does not know the client any more that this tool registered
    /// there; any other error as it is.
    func explained(_ error: any Error, under variables: Variables? = nil, at authority: Authority? = nil) -> any Error {
        guard let known = error as? AuthenticationError, .clientNotRegistered ~= known.code,
            (try? (variables ?? environment).isOn("registered", false)) == true,
            let authority = authority ?? made?.configuration.authority
        else { return error }
        return AuthenticationError(forgottenAt: authority, known)
    }
}

extension ProviderOptions {
    /// Returns the store of what this tool registered at servers.
    func cacheOfRegistrations(_ session: Session) throws -> any TokenCache {
        let cache = try cacheChoice(session.environment).cache(
            of: ClientID(rawValue: ClientSoftware.identityctl.id),
            prompting: session.environment.hasScreen ? .allowed() : .never,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
        if let cache = cache as? DesktopTokenCache { session.uses(cache, ClientSoftware.identityctl.group) }
        return cache
    }
}

/// Tokens of a source. The first of a profile without an account binds it to the only account that is signed in.
struct ProfileBinding: TokenSource {
    let base: any TokenSource
    let session: Session

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        let token = try await base.token(wanted)
        try await session.bindProfile(to: token.result.account)
        return token
    }
}

/// Tokens of a source. If its client is one that this tool registered, and that the server does not know any more, a person is
/// needed, with whose sign-in it is registered anew.
struct RegisteredClient: TokenSource {
    let base: any TokenSource
    let session: Session
    let variables: Variables
    let authority: Authority

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        do {
            return try await base.token(wanted)
        } catch {
            session.noteClient(after: error, under: variables)
            throw session.explained(error, under: variables, at: authority)
        }
    }
}

/// Tokens of a source, with a warning of one that is good for a shorter time than wanted.
struct ShortLifeWarning: TokenSource {
    let base: any TokenSource
    let session: Session

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        let token = try await base.token(wanted)
        session.warn(of: token, wanted)
        return token
    }
}

extension Console {
    /// Warns of a token that is good for a shorter time than wanted.
    func warn(ofShortLife left: Duration, below wanted: Duration) {
        guard left > .zero else {
            return line("Warning: the token expired \(-left.components.seconds) s ago. An API may refuse it.")
        }
        guard left < wanted else { return }
        line("Warning: the token is good for \(left.components.seconds) s only. No longer one could be had.")
    }
}

/// The tokens of one account, as a client of an API takes them.
struct TokenAccess: Sendable {
    var source: any TokenSource
    /// The application that gives the client its clock and its logger. With an agent it only stands in.
    let application: PublicClientApplication
    let account: Account
    /// Where the tokens go, if they are for a resource; `nil` for the origin of the call.
    let place: WebAddress?
    /// The account that an agent is asked for.
    private let named: Given?
    private let session: Session

    /// - Parameter command: The name that an agent shows to its person.
    /// - Throws: `.noTokensFound` if no account is signed in; `AccountNotChosen`; `UsageError`.
    init(_ options: ProviderOptions, _ account: AccountOption, for command: String, in session: Session) async throws {
        let variables = session.environment
        self.session = session
        named = try variables.given("account", account.account)
        guard let own = try session.ownSource(options, for: command) else {
            source = try session.source(options, for: command)
            self.application = try session.application(AgentSource.configuration)
            (self.account, place) = (AgentSource.account, nil)
            return
        }
        let client = RegisteredClient(
            base: own,
            session: session,
            variables: variables,
            authority: own.application.configuration.authority
        )
        (source, self.application) = (ProfileBinding(base: client, session: session), own.application)
        self.account = try await own.application.chosenAccount(named)
        let text = variables.profile?.place ?? own.application.configuration.authority.resource
        place = text.flatMap { WebAddress($0) }
    }

    /// Acquires a token without a question.
    ///
    /// - Throws: As `TokenSource.token(_:)`.
    func acquire(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        var wanted = WantedToken(parameters)
        wanted.account = named
        let token = try await source.token(wanted).checked()
        if token.report == nil {
            session.warn(ofClaimsMissingIn: token.result, wanting: parameters.scopes)
            session.noteClient(after: token.result)
        }
        return token.result
    }

    /// Returns the access to tokens of another source, which wraps this one's.
    func wrapped(_ wrap: (any TokenSource) -> any TokenSource) -> TokenAccess {
        var access = self
        access.source = wrap(source)
        return access
    }
}
