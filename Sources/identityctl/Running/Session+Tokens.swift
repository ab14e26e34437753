// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityCapture
import IdentityClient
import IdentityKeyring
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

    /// The sources in place of the cache and the provider, a line for each.
    private func otherSource(
        _ options: ProviderOptions,
        _ route: TokenRoute,
        for command: String
    ) throws -> (any TokenSource)? {
        if let agent = route.agent { return try AgentSource(agent, options, route, for: command) }
        return try GNOMEAccounts(route.variables.profile)
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

    /// Makes an application object: the one place of this tool.
    ///
    /// - Parameter isOne: Whether it is the command's, whose pending work is finished before the program ends. Otherwise the caller
    ///   does that.
    func application(
        _ configuration: ClientConfiguration,
        isOne: Bool = true
    ) throws -> PublicClientApplication {
        var configuration = configuration
        configuration.logger = logger
        configuration.capture = recording?.capture
        let made = try PublicClientApplication(configuration)
        if isOne { hold(made) }
        return made
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

/// The tokens of the cache and the provider.
struct ApplicationSource: TokenSource {
    let application: PublicClientApplication
    /// Shows that long work is under way; `nil` for none, and for no limit but that of the caller.
    var console: Console?

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        var wanted = wanted
        if let person = wanted.person { try await choose(person, in: &wanted) }
        if let result = try await stored(wanted) { return HandedToken(result: result) }
        let account =
            if let known = wanted.signedIn { known } else { try await application.chosenAccount(wanted.account) }
        let (parameters, provesKey) = (wanted.parameters(for: account), wanted.provesKey)
        let work = { @Sendable () async throws -> HandedToken in
            let result = try await application.acquireTokenSilently(parameters)
            guard result.scheme != .dpop || provesKey else { throw Self.isBound }
            return HandedToken(result: result)
        }
        guard let console, let timeout = wanted.timeout else { return try await work() }
        // The call itself ends in time, with a token of the cache if there is one to take.
        return try await console.bounded(by: timeout + .seconds(1), work)
    }

    /// Returns the token if it stands in a file of this computer and is good for long enough: without a deadline and another
    /// thread, for which the callers of a helper would wait at each start. Otherwise returns `nil`.
    func stored(_ wanted: WantedToken) async throws -> AuthenticationResult? {
        guard let cache = application.configuration.cache as? FileTokenCache, wanted.scheme == .bearer,
            wanted.claims == nil, wanted.refusedToken == nil, !wanted.forcesRefresh, !wanted.isIDToken,
            !wanted.provesKey
        else { return nil }
        return try await cache.readingInPlace {
            let account = try await application.chosenAccount(wanted.account)
            return try await application.cachedToken(
                scopes: wanted.scopes,
                account: account,
                minimumValidity: wanted.minimumValidity
            )
        }
    }

    /// Chooses the account with the name that is in an address.
    private func choose(_ person: String, in wanted: inout WantedToken) async throws {
        guard try await !application.allAccounts().isEmpty else { return }
        // The account of the profile's first sign-in is the usual one; a name in the address chooses another one.
        if wanted.account?.account?.isSignedOut == false { wanted.account = nil }
        guard try await application.has(person, among: wanted.account) else { throw NoTokenOfPerson(person: person) }
        wanted.account = wanted.account ?? Given(text: person, origin: "username")
    }

    private static var isBound: AuthenticationError {
        AuthenticationError(
            .unsupported,
            "The token is bound to a key (DPoP), and is of no use without a proof for each request. 'identityctl call' makes them, "
                + "and 'identityctl token --request' prints one."
        )
    }
}

extension PublicClientApplication {
    /// Whether an account with this id or username is signed in, and is the one that `chosen` names, if it names one.
    fileprivate func has(_ name: String, among chosen: Given?) async throws -> Bool {
        let byID = try await account(withID: Account.ID(rawValue: name))
        let named = try await [byID].compactMap(\.self) + accounts(withUsername: name)
        guard let chosen else { return !named.isEmpty }
        let id = try await chosenAccount(chosen).id
        return named.contains { $0.id == id }
    }
}

extension Console {
    /// Runs `work`, which calls the provider, for at most `limit`. On a terminal, reports that long work is under way.
    ///
    /// - Throws: The errors of `work`; `.networkTimedOut`. A request that is still under way then becomes pending work.
    func bounded<Value: Sendable>(
        by limit: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await showingProgress(after: .seconds(2)) { elapsed in
                "Asking the provider… \(elapsed.wholeSeconds) s. Ctrl-C gives up."
            } while: {
                try await withDeadline(limit, work)
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .networkTimedOut,
                "The provider did not answer within \(limit.wholeSeconds) s. Try again; no new sign-in is needed."
            )
        }
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
