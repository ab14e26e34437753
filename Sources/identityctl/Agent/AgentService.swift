// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Logging
import OAuthWire
import Synchronization
import SystemSupport

/// Answers the agent's requests. One application object for each profile answers from memory.
final class AgentService: Sendable {
    private struct Loaded {
        let version: String
        let application: PublicClientApplication
    }

    /// A request without the name that the program gives itself, and the number of answers that were begun when it came.
    private struct Look: Hashable {
        let request: AgentRequest.Token
        let begun: Int
    }

    /// A request, before the provider is asked for anything.
    fileprivate struct Asked {
        let profile: AgentProfile
        let policy: AgentPolicy
        let application: PublicClientApplication
        let parameters: SilentParameters
        /// Whether a usual sign-in for the profile gives the token.
        let isUsual: Bool
    }

    /// A token, before it is handed out.
    private struct Found {
        let wanted: AgentRenewal.Wanted
        let policy: AgentPolicy
        let offer: AgentOffer
        let accessToken: String
        let source: AuthenticationResult.Source
        let answer: [UInt8]
    }

    private enum Lock {
        case open
        /// Until the screen is unlocked.
        case byScreen
        /// Until a person unlocks the agent.
        case byRequest
    }

    private struct State {
        var lock = Lock.open
        var loaded: [String: Loaded] = [:]
        /// The hashes of the last processes and their tokens.
        var handedOut: [Int] = []
    }

    private let profiles: AgentProfiles
    private let logger: Logger
    private let make: @Sendable (AgentProfile) throws -> PublicClientApplication
    private let passPhrases: PassPhrasePrompt
    private let confirmations: AgentConfirmations
    private let signIns: AgentSignIns
    private let renewal: AgentRenewal
    private let state = Mutex(State())
    private let looks = SingleFlight<Look, Found>()
    private let begunLooks = Atomic(0)
    /// Settled when a person ends the agent.
    let stopped = Promise<Void>()

    /// The time for a token.
    static let patience = Duration.seconds(60)

    /// - Parameters:
    ///   - passPhrases: The prompt that `make` uses.
    ///   - ask: Asks the person before a token is handed out.
    ///   - show: Tells the person of a sign-in.
    ///   - signIn: Signs in at this desktop, and returns whether that worked.
    ///   - make: Makes the application object of a profile.
    init(
        _ profiles: AgentProfiles,
        logger: Logger,
        passPhrases: PassPhrasePrompt,
        ask: @escaping ShowNotice,
        show: @escaping ShowNotice,
        signIn: @escaping @Sendable (AgentProfile) async throws -> Bool,
        make: @escaping @Sendable (AgentProfile) throws -> PublicClientApplication
    ) {
        self.profiles = profiles
        self.logger = logger
        self.passPhrases = passPhrases
        self.make = make
        confirmations = AgentConfirmations(ask)
        signIns = AgentSignIns(show: show, logger: logger, signIn: signIn)
        renewal = AgentRenewal(signIns)
    }

    /// Returns the answer to a request's bytes, as one line.
    ///
    /// - Parameter isControl: Whether the request came over the socket that is never forwarded.
    func answer(_ bytes: [UInt8], from peer: AgentPeer?, isControl: Bool) async -> [UInt8] {
        var name = "unreadable"
        do {
            let request = try AgentRequest(parsing: bytes)
            name = request.logName
            return try await answer(request, peer, isControl)
        } catch {
            let advised = error as? Advised
            let cause: any Error = advised?.error ?? error
            log("Refused a request", peer, ["request": "\(name)", "code": "\(JSONReport.code(of: cause))"])
            return AgentAnswer.failure(cause, advice: advised?.advice).answerLine
        }
    }

    private func answer(_ request: AgentRequest, _ peer: AgentPeer?, _ isControl: Bool) async throws -> [UInt8] {
        switch request {
        case .token(let token):
            return try await self.token(token, peer)
        case .accounts:
            try checkUnlocked()
            return AgentAnswer.success([("info", .strings(try profiles.names()))]).answerLine
        case .status:
            let names = try profiles.names()
            return AgentAnswer.success([
                ("locked", .bool(isLocked)), ("profiles", .strings(names)),
                ("version", .string(LibraryVersion.current)),
            ]).answerLine
        case .lock:
            state.withLock { $0.lock = .byRequest }
            confirmations.forget()
            if passPhrases.forget() { forgetApplications() }
        case .unlock, .stop:
            guard isControl else {
                throw AuthenticationError(
                    .blockedByPolicy,
                    "An agent is unlocked and ended only over its socket for control, which is not forwarded."
                )
            }
            guard case .unlock(let passPhrase) = request else {
                stopped.finish(.success(()))
                break
            }
            if let passPhrase { try await passPhrases.use(passPhrase.text, for: passPhrase.key) }
            state.withLock { $0.lock = .open }
            log("Done", peer, ["request": "unlock"])
            return AgentAnswer.success([("pass_phrases", .strings(await missingPassPhrases()))]).answerLine
        }
        log("Done", peer, ["request": "\(request.logName)"])
        return AgentAnswer.success().answerLine
    }

    private var isLocked: Bool { state.withLock { $0.lock != .open } }

    /// Locks with the screen. An agent that was locked on request stays so.
    func screenChanged(isLocked: Bool) {
        state.withLock { state in
            switch (state.lock, isLocked) {
            case (.open, true): state.lock = .byScreen
            case (.byScreen, false): state.lock = .open
            default: break
            }
        }
        if isLocked { confirmations.forget() }
    }

    private func checkUnlocked() throws {
        guard isLocked else { return }
        throw AuthenticationError.agent(
            "locked",
            "The agent is locked. To unlock it, run where it runs: identityctl agent unlock"
        )
    }

    private func token(_ request: AgentRequest.Token, _ peer: AgentPeer?) async throws -> [UInt8] {
        try checkUnlocked()
        let allowed = try await allowed(request, peer)
        let found = try await found(for: request)
        if allowed?.covers(found.offer) != true { try await confirm(found.offer, found.policy, request, peer) }
        try checkUnlocked()  // the screen may have been locked meanwhile
        renewal.remember(found.wanted)
        log(
            "Handed out a token",
            peer,
            [
                "profile": "\(found.offer.profile)", "scopes": "\(found.wanted.parameters.scopes.text.printable)",
                "hint": "\(request.hint.map(WireText.clean) ?? "-")", "source": "\(found.source.rawValue)",
            ],
            isNew: isNew(found.accessToken, for: peer)
        )
        return found.answer
    }

    /// Asks the person, where the profile says so, before the provider is asked: a caller without a yes causes no request to it.
    ///
    /// - Returns: The offer that the person allowed; `nil` if there was no question.
    private func allowed(_ request: AgentRequest.Token, _ peer: AgentPeer?) async throws -> AgentOffer? {
        guard !request.usesCacheOnly, try AgentPolicy(profiles.chosen(by: request)).confirmation != .never else {
            return nil
        }
        let asked = try await asked(request)
        let token = try await advising(asked.profile, request, asked.isUsual) { try await asked.keptToken() }
        if let token, request.claims == nil, !request.forcesRefresh { try asked.check(token, request) }
        let offer = asked.offer(of: token, request)
        try await confirm(offer, asked.policy, request, peer)
        try checkUnlocked()
        return offer
    }

    private func confirm(
        _ offer: AgentOffer,
        _ policy: AgentPolicy,
        _ request: AgentRequest.Token,
        _ peer: AgentPeer?
    ) async throws {
        guard policy.confirmation != .never else { return }
        let question = AgentQuestion(offer: offer, caller: peer?.caller, hint: request.hint)
        try await confirmations.confirm(question, policy.confirmation)
    }

    /// Looks for a token once for all equal requests that came before the look began: a hundred programs may ask at once.
    private func found(for request: AgentRequest.Token) async throws -> Found {
        var request = request
        request.hint = nil
        let key = Look(request: request, begun: begunLooks.load(ordering: .acquiring))
        do {
            return try await looks.run(key) { [self, request] in
                begunLooks.add(1, ordering: .releasing)
                return try await withDeadline(Self.patience) { [self] in try await self.look(for: request) }
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(.networkTimedOut, "The provider did not answer within 60 s. Try again.")
        }
    }

    /// Returns what a request asks for, as far as the policy allows it. Nothing is asked of the provider.
    private func asked(_ request: AgentRequest.Token) async throws -> Asked {
        let profile = try profiles.chosen(by: request)
        let name = profile.name.printable
        let policy = try AgentPolicy(profile)
        let scopes = try policy.scopes(for: request, profile: name)
        try policy.check(audience: request.audience, profile: name)
        try policy.check(scheme: SchemeOption.chosen(profile.environment.given("scheme", nil)), profile: name)
        let application = try application(of: profile)
        // Another sign-in than the usual one would be needed for more than that.
        let isUsual = request.claims == nil && request.user == nil && scopes.isSubset(of: policy.defaultScopes)
        return try await advising(profile, request, isUsual) {
            var parameters = SilentParameters(
                scopes: scopes,
                account: try await profile.account(request.user, in: application),
                claims: try request.claims ?? profile.environment.given("claims", nil)?.text,
                forcesRefresh: request.forcesRefresh,
                minimumValidity: .seconds(request.minimumValidity),
                usesCacheOnly: request.usesCacheOnly,
                allowsExpiredToken: request.allowsExpiredToken
            )
            parameters.refusedToken = request.refusedToken
            return Asked(
                profile: profile,
                policy: policy,
                application: application,
                parameters: parameters,
                isUsual: isUsual
            )
        }
    }

    private func look(for request: AgentRequest.Token) async throws -> Found {
        let asked = try await asked(request)
        let (profile, application, parameters) = (asked.profile, asked.application, asked.parameters)
        return try await advising(profile, request, asked.isUsual) {
            var wanted = WantedToken(parameters)
            wanted.isIDToken = request.wantsIDToken
            let token = try await IDTokens(base: ApplicationSource(application: application)).token(wanted)
            let result = token.result
            if asked.isUsual { signIns.done(for: profile, having: result, in: application) }
            try asked.check(result, request)
            return Found(
                wanted: AgentRenewal.Wanted(
                    application: application,
                    parameters: parameters,
                    profile: profile,
                    isUsual: asked.isUsual,
                    result: result
                ),
                policy: asked.policy,
                offer: asked.offer(of: result, request),
                accessToken: result.accessToken,
                source: result.source,
                answer: AgentAnswer.token(
                    result,
                    token.idToken,
                    issuer: application.configuration.authority.url,
                    isPersistent: result.isPersisted && !(application.configuration.cache is InMemoryTokenCache),
                    serves: request.serves,
                    username: try profile.environment.given("username", nil)?.text
                ).answerLine
            )
        }
    }

    /// Does `work`, and adds to an error that asks for a person how to sign in.
    private func advising<Value>(
        _ profile: AgentProfile,
        _ request: AgentRequest.Token,
        _ isUsual: Bool,
        _ work: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await work()
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            if isUsual { signIns.needed(for: profile) }
            let claims = error.claims ?? request.claims
            let login = claims.map { profile.login.replacing("--claims", with: $0) } ?? profile.login
            throw Advised(error, "To sign in, run where the agent runs: \(login.command("login"))")
        }
    }

    /// The application object of a profile, made anew after the profile has changed.
    private func application(of profile: AgentProfile) throws -> PublicClientApplication {
        try state.withLock { state in
            if let loaded = state.loaded[profile.name], loaded.version == profile.version { return loaded.application }
            let application = try make(profile)
            state.loaded[profile.name] = Loaded(version: profile.version, application: application)
            renewal.forget(profile.name)
            return application
        }
    }

    /// Whether a process gets a token for the first time. A watcher of a file asks each minute.
    private func isNew(_ token: String, for peer: AgentPeer?) -> Bool {
        guard let peer else { return true }
        var hasher = Hasher()
        hasher.combine(peer.process)
        hasher.combine(token)
        let hash = hasher.finalize()
        return state.withLock { state in
            if state.handedOut.contains(hash) { return false }
            state.handedOut = state.handedOut.suffix(99) + [hash]
            return true
        }
    }

    /// Returns the key files whose pass phrase the person has to give. Reading the accounts needs the keys, and no network.
    private func missingPassPhrases() async -> [String] {
        await passPhrases.missing { [self] in
            for name in (try? profiles.names()) ?? [] {
                // The program that asks for a profile's tokens learns of its other troubles.
                _ = try? await application(of: profiles.chosen(by: AgentRequest.Token(profile: name))).allAccounts()
            }
        }
    }

    /// Forgets the application objects, which have keys and tokens in memory.
    private func forgetApplications() {
        let forgotten = state.withLock { state in
            defer { state.loaded = [:] }
            return state.loaded.values.map(\.application)
        }
        renewal.forget()
        // New refresh tokens that are under way are stored first. More cannot be done.
        Task { for application in forgotten { _ = try? await application.finishPendingWork(within: .seconds(5)) } }
    }

    private func log(_ message: Logger.Message, _ peer: AgentPeer?, _ details: Logger.Metadata, isNew: Bool = true) {
        let level = isNew ? Logger.Level.info : .debug
        guard logger.logLevel <= level else { return }
        var details = details
        if let peer {
            details["pid"] = "\(peer.process)"
            details["program"] = "\(peer.caller.program ?? "-")"
        }
        logger.log(level: level, message, metadata: details)
    }
}

extension AgentService {
    /// Renews the tokens that end soon, unless the agent is locked.
    func renew(at now: ContinuousClock.Instant = .now) async {
        await renewal.renew(isLocked: isLocked, at: now)
    }

    /// Renews every minute until the task is cancelled.
    func keepRenewing() async {
        while (try? await Task.sleep(for: .seconds(60))) != nil { await renew() }
    }

    /// Finishes refreshes that are under way, for five seconds at most, and takes reminders back.
    func finishPendingWork() async {
        signIns.end()
        for loaded in state.withLock({ Array($0.loaded.values) }) {
            // Nothing more can be done at the end.
            _ = try? await loaded.application.finishPendingWork(within: .seconds(5))
            guard let failure = loaded.application.unwrittenRefresh else { continue }
            logger.error("New tokens could not be stored: a sign-in may be needed. \(failure.message)")
        }
    }
}

extension AgentService.Asked {
    /// Returns the token that is kept here, even one that has expired, for its scopes; `nil` if the provider would tell them.
    fileprivate func keptToken() async throws -> AuthenticationResult? {
        var wanted = WantedToken(parameters)
        (wanted.allowsExpiredToken, wanted.minimumValidity) = (true, .zero)
        (wanted.claims, wanted.forcesRefresh, wanted.refusedToken) = (nil, false, nil)
        return try await ApplicationSource(application: application).kept(wanted)?.result
    }

    /// Checks a token before it leaves the agent.
    fileprivate func check(_ token: AuthenticationResult, _ request: AgentRequest.Token) throws {
        try policy.check(token, audience: request.audience, profile: profile.name.printable)
    }

    /// The offer to hand out: the asked scopes, and those that the token has beyond them.
    fileprivate func offer(of token: AuthenticationResult?, _ request: AgentRequest.Token) -> AgentOffer {
        let account = token?.account ?? parameters.account
        return AgentOffer(
            profile: profile.name.printable,
            account: account.id,
            accountName: account.shortLabel,
            scopes: (token.map { policy.handedOut(parameters.scopes, $0) } ?? parameters.scopes).text,
            audience: request.audience,
            claims: parameters.claims,
            hasIDToken: request.wantsIDToken
        )
    }
}

/// An error with advice that only the agent can give.
private struct Advised: Error {
    let error: AuthenticationError
    let advice: String

    init(_ error: AuthenticationError, _ advice: String) {
        self.error = error
        self.advice = advice
    }
}

extension JSONObject {
    fileprivate var answerLine: [UInt8] { serialized() + [0x0A] }
}

extension AuthenticationResult {
    fileprivate var isPersisted: Bool {
        if case .persisted = persistence { true } else { false }
    }
}

extension AgentRequest {
    fileprivate var logName: String {
        switch self {
        case .token: "access_token"
        case .accounts: "loaded_accounts"
        case .status: "status"
        case .lock: "lock"
        case .unlock: "unlock"
        case .stop: "stop"
        }
    }
}
