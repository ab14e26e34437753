// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

extension MCPCommand {
    func route(_ variables: Variables, _ lines: ProfileLines) throws -> TokenRoute {
        guard page == nil else { return TokenRoute(variables: variables) }
        guard !provider.namesOne(variables), try variables.given("resource", provider.resource) == nil else {
            throw UsageError(
                """
                'identityctl mcp' takes no client, provider or resource. Sign in once with these options ('identityctl login \
                --resource \(url.shellWord)'), or keep them in a profile with a line 'serves = ADDRESS'.
                """
            )
        }
        try refuseWayOfToken()
        return try .bridging(to: url, provider, variables, lines)
    }

    /// Refuses the options that lead the token elsewhere, to a proxy for example: they may be those of a project's file. A profile
    /// and a variable are the person's.
    private func refuseWayOfToken() throws {
        let given = [
            ("proxy", provider.proxy), ("ca-file", provider.caFile), ("cache", provider.cache),
            ("token-parameter", provider.tokenParameters.first),
        ].filter { $0.1 != nil }.map(\.0)
        guard let first = given.first else { return }
        throw UsageError(
            """
            'identityctl mcp' takes no \(given.map { "--\($0)" }.joined(separator: ", ")): the file of a project could give it. Keep it \
            in a profile (identityctl profile add NAME --resource \(url.shellWord) --\(first) …), and give --profile NAME; or set \
            \(Variables.variable(for: first)).
            """
        )
    }

    /// Returns what acquires the token, and its scopes.
    ///
    /// - Parameter scopes: The scopes that the server demanded beyond the usual ones.
    /// - Throws: `.noTokensFound` before the first sign-in; `UsageError`.
    func access(demanding scopes: Set<Scope>, _ session: Session) async throws -> (TokenAccess, Set<Scope>) {
        // Another process may have signed in since.
        session.follow(try route(session.environment.above(nil), session.lines))
        let route = session.route
        if route.agent != nil {
            guard route.served != nil else { throw UsageError("<url>: \(ServedAddress.form)") }
        } else if route.variables.profile == nil {
            throw AuthenticationError.unknownResource(Given(text: url, origin: "<url>"))
        }
        let access = try await TokenAccess(provider, account, for: "call", in: session)
        let all = try token.scopes(route.variables).union(scopes)
        guard !signsIn, renewed == nil, route.agent == nil else { return (access, all) }
        return (access.wrapped { RenewedElsewhere(base: $0, command: self) }, all)
    }

    /// Renews the token, unless another process has done so.
    ///
    /// - Parameter refused: The digest of the token that the server refused.
    func renew(_ refused: String, _ session: Session) async throws {
        let (access, scopes) = try await access(demanding: token.scopes(session.environment), session)
        var parameters = SilentParameters(scopes: scopes, account: access.account)
        if let kept = try await access.source.kept(WantedToken(parameters)) {
            guard Digest.hexadecimal(of: [kept.result.accessToken]) == refused else { return }
            parameters.refusedToken = kept.result.accessToken
        }
        _ = try await access.acquire(parameters)
    }

    /// The answer to a demand, as far as no person is asked.
    enum Need {
        case none
        /// A person has to sign in: with this account, after the first sign-in.
        case needed(Account?)
    }

    func need(of demand: SignInDemand, _ session: Session) async throws -> Need {
        do {
            let (access, scopes) = try await access(demanding: demand.scopes, session)
            do {
                let result = try await access.acquire(SilentParameters(scopes: scopes, account: access.account))
                return demand.isMet(by: result) ? .none : .needed(access.account)
            } catch AuthenticationError.Code.interactionRequired {
                return .needed(access.account)
            }
        } catch AuthenticationError.Code.interactionRequired {
            return .needed(nil)
        }
    }

    /// Whether a token can be had without a person.
    func isSignedIn(_ session: Session) async throws -> Bool {
        session.follow(try route(session.environment, session.lines))
        if case .none = try await need(of: SignInDemand(), session) { return true }
        return false
    }

    /// The account whose token is used.
    ///
    /// - Throws: `.noTokensFound` before the first sign-in; `UsageError`.
    func chosenAccount(_ session: Session) async throws -> Account {
        session.follow(try route(session.environment, session.lines))
        return try await access(demanding: [], session).0.account
    }

    /// The turn to sign in; `nil` without a home directory.
    func turns(_ environment: Variables) throws -> SignInTurn? {
        let directory = try ProfileDirectory(environment)
        let path =
            if let profile = environment.profile, profile.isNamed {
                directory.signInPath(of: profile)
            } else {
                directory.signInPath(ofResource: url)
            }
        return path.map(SignInTurn.init)
    }

    /// The place of the notes about a sign-in, by its last part.
    func signInDirectory(_ name: String, _ environment: Variables) throws -> String {
        guard let directory = try ProfileDirectory(environment).signInPath(named: name) else {
            throw UsageError("--page: this is no name of a sign-in.")
        }
        return directory
    }

    /// Signs in, unless another process does, or has done so.
    ///
    /// - Throws: The errors of a sign-in. One that came to nothing is noted, so that no tab opens for a while.
    func signIn(_ session: Session) async throws {
        guard let turns = try turns(session.environment) else {
            throw UsageError("There is no home directory for the sign-in: set HOME.")
        }
        let turn: HeldLock
        do {
            turn = try await turns.take(within: .seconds(1))
        } catch AuthenticationError.Code.cacheBusy {
            return
        }
        MCPOffer.Page.remove(turns)
        defer {
            MCPOffer.Page.remove(turns)
            turn.end()
        }
        let demand = SignInDemand(
            scopes: try token.scopes(session.environment),
            refused: refused,
            isForMore: demandsMore
        )
        guard case .needed(let account) = try await need(of: demand, session), !turns.isDeclined,
            !turns.hasAskedLately
        else { return }
        turns.report(SignInCourse())
        session.watchCourse(turns.report)
        do {
            let page = demandsMore ? try question(demand.scopes, session.environment) : nil
            if account != nil { try turns.noteQuestion() }
            try await signInHere(demand, asking: page, account, session)
        } catch let error where !(error is CancellationError) {
            var course = session.courseSoFar
            (course.text, course.advice) = (Self.reason(of: error), adviceOnSignIn(error, demand, session))
            turns.report(course)
            switch error {
            case AuthenticationError.Code.userCancelled, AuthenticationError.Code.interactionTimedOut:
                try turns.decline()
            default:
                // A page for each message would be too many.
                if course.hasPage { try turns.noteQuestion() }
            }
            throw error
        }
    }

    /// Returns the reason of an error, in a line, in the words of this program and the server's.
    private static func reason(of error: any Error) -> String {
        let words = (error as? AuthenticationError)?.serverError.map { [PlainReport.words($0)] } ?? []
        return ([JSONReport.message(of: error).printable] + words).joined(separator: " ")
    }

    private func adviceOnSignIn(_ error: any Error, _ demand: SignInDemand, _ session: Session) -> String {
        let options = sharedOptions.replacing("--resource", with: url)
        let cause = (error as? AuthenticationError)?.underlyingError
        if cause is UnansweredQuestion || cause is MovedResource, let advice = PlainReport.advice(error, options) {
            return advice
        }
        if session.environment.profile?.isOfRegistration == true,
            case AuthenticationError.Code.interactionTimedOut = error,
            let advice = ElsewhereAdvice(options: options).after(error, of: session.environment.profile)
        {
            return advice
        }
        if case AuthenticationError.Code.clientNotRegistered = error {
            return "With that client id, run: \(options.command("login")) --client-id ID"
        }
        return "To sign in, run: \(login(demanding: demand.scopes, session.environment))"
    }

    /// The page before a sign-in that the server demands for more scopes than were granted.
    ///
    /// - Throws: `.insufficientScope` for more scopes than a page shows.
    private func question(_ scopes: Set<Scope>, _ environment: Variables) throws -> BrowserQuestion {
        // A token that came without a person may claim more than the person knows of.
        let known = environment.profile?.given("scope")?.words ?? []
        let new = scopes.subtracting(known.map(Scope.init(rawValue:))).subtracting([.openID, .profile, .offlineAccess])
        let text = (new.isEmpty ? scopes : new).map(\.rawValue).sorted().joined(separator: " ")
        guard text.utf8.count <= 800 else {
            throw AuthenticationError(.insufficientScope, "\(url.printable) demands more scopes than a page can show.")
        }
        return BrowserQuestion(
            title: "Grant more to \(WebAddress(url)?.environment ?? "an AI program")?",
            sentences: [
                "An AI program uses \(url) in your name. The server there demands more scopes than you have granted.",
                "The new scopes: \(text)",
                "Go on only if you want to grant them.",
            ]
        )
    }

    private func signInHere(
        _ demand: SignInDemand,
        asking question: BrowserQuestion?,
        _ account: Account?,
        _ session: Session
    ) async throws {
        // A page opens in any case if the server has refused the token: with a question, for the account that is signed in.
        var login = try LoginCommand.ungiven
        (login.ifNeeded, login.mcp) = (demand.refused == nil, true)
        (login.provider, login.token, login.account) = (provider, token, self.account)
        if question != nil, try session.environment.given("account", self.account.account) == nil {
            login.account.account = account?.id.rawValue
        }
        if session.environment.profile?.isNamed != true {
            login.provider.resource = url
            login.token.scopes = demand.scopes.map(\.rawValue).sorted()
        }
        try await login.run(in: session, asking: question, isRefused: demand.refused != nil && question == nil)
    }
}

/// Tokens of the cache, and in place of an ended or refused one that of a process of its own: a bridge may be ended between the
/// server's answer, which spends the refresh token, and its being stored.
struct RenewedElsewhere: TokenSource {
    let base: any TokenSource
    let command: MCPCommand

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        guard wanted.claims == nil else { return try await base.token(wanted) }
        if let kept = try await base.kept(wanted) { return kept }
        let refused = wanted.refusedToken.map { Digest.hexadecimal(of: [$0]) } ?? "expired"
        _ = try await DetachedProcess.run(
            "/proc/self/exe",
            arguments: ["identityctl", "mcp", command.url, "--renew=\(refused)"]
                + command.options(demanding: wanted.scopes).words,
            environment: DesktopSignIn.variables(),
            timeout: .seconds(50)
        )
        // The reason of a failure is that of another attempt.
        if let kept = try await base.kept(wanted) { return kept }
        return try await base.token(wanted)
    }
}
