// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources

// The account that `--account` names, or that of a profile's first sign-in, when its person, or another one, signs in.
extension PublicClientApplication {
    /// Returns the account without which a sign-in fails; `nil` if any account may sign in.
    ///
    /// An account that `--account` names is required. That of a profile is required by a command that hands out a token or
    /// signs in because the profile has none, and else it is only proposed: a second person may sign in beside it.
    func required(_ given: Given?, isStrict: Bool) async throws -> Given? {
        guard let given, let own = given.account else { return given }
        guard !own.isSignedOut else { return nil }
        guard !configuration.authority.issuesIDTokens else { return isStrict ? given : nil }
        // Such a server tells no person from another: a new sign-in continues the account, if there is still one.
        return try await account(withID: Account.ID(rawValue: own.id)) == nil ? nil : given
    }

    /// Refuses to call a sign-in a success if another account signed in, and the profile's own still cannot get a token.
    ///
    /// - Parameter scopes: The scopes that the profile's tokens have.
    func checkAccount(
        of profile: Profile?,
        beside result: AuthenticationResult,
        _ scopes: Set<Scope>
    ) async throws {
        guard let profile, let own = profile.account, !own.isSignedOut, own.id != result.account.id.rawValue,
            configuration.authority.issuesIDTokens
        else { return }
        let account = try await account(withID: Account.ID(rawValue: own.id))
        if let account, try await hasToken(account, scopes) { return }
        throw AuthenticationError(
            .accountMismatch,
            "\(result.account.label) is signed in now, but the profile '\(profile.name)' is \(own.label)'s, who is not."
        )
    }

    /// Checks that the wanted account has signed in.
    ///
    /// - Throws: `.accountMismatch` if `--account` names another account than the one that has just signed in.
    func check(_ account: Account, is wanted: Given?) async throws {
        guard let wanted else { return }
        do {
            if try await chosenAccount(wanted).id == account.id { return }
        } catch AuthenticationError.Code.noTokensFound {}
        throw AuthenticationError(
            .accountMismatch,
            wanted.account == nil
                ? "\(account.label) is signed in now, but --account asks for '\(wanted.label)'. Give it as "
                    + "'identityctl accounts' lists it, or choose the other account on the sign-in page."
                : "\(account.label) is signed in now, but \(wanted.origin) is \(wanted.label)'s."
        )
    }

    /// Whether an account gets a token. An error that may go away by itself counts as a yes.
    private func hasToken(_ account: Account, _ scopes: Set<Scope>) async throws -> Bool {
        do {
            _ = try await acquireTokenSilently(scopes: scopes, account: account)
            return true
        } catch AuthenticationError.Code.interactionRequired {
            return false
        } catch is AuthenticationError {
            return true
        }
    }
}

extension InteractiveParameters {
    /// Asks for the account that `--account` names. For an account that is not signed in yet, the name is only a hint.
    mutating func ask(for wanted: Given?, _ application: PublicClientApplication) async throws {
        guard let wanted else { return }
        do {
            account = try await application.chosenAccount(wanted)
        } catch AuthenticationError.Code.noTokensFound {
            loginHint = loginHint ?? (wanted.account == nil ? wanted.text : wanted.account?.username)
        }
    }
}

extension LoginCommand {
    /// Returns the advice for a sign-in as another person than the profile's.
    func adviceOnPerson(_ error: any Error, _ session: Session) -> String? {
        guard case AuthenticationError.Code.accountMismatch = error, account.account == nil,
            let profile = session.environment.profile, let own = profile.account
        else { return nil }
        let options = sharedOptions
        return """
            The profile '\(profile.name)' is \(own.label)'s. To sign in as \(own.label), run: \
            \(options.replacing("--prompt", with: "select_account").command("login")). To give the profile to another person, \
            run before: \(options.ofProviderAndCache.command("logout"))
            """
    }
}

extension LoginCommand {
    /// Returns the command that makes a profile of this sign-in's options and variables; `nil` where lines of a profile or of a known
    /// resource count already.
    func profileCommand(_ session: Session) throws -> String? {
        let environment = session.environment
        guard environment.profile == nil, let directory = try? ProfileDirectory(environment) else { return nil }
        let groups = OptionGroups(provider: provider, token: token)
        var options = provider.shared(token).without("--profile")
        // The store is remembered; another kind of cache is not.
        let isRemembered = try provider.cacheChoice(environment).policy != nil
        if isRemembered { options = options.without("--cache") }
        for setting in Setting.ofProvider + Setting.ofRequest where setting.isLine && !groups.isGiven(setting) {
            // A provider that options name replaces all variables for it.
            let isReplaced = provider.isOnCommandLine && setting.traits.contains(.namesProvider)
            guard !isReplaced, !["account", "scheme"].contains(setting.name), setting.name != "cache" || !isRemembered
            else { continue }
            if setting.kind == .switch {
                if try environment.isOn(setting.name, false) { options = options.adding(flag: setting.option) }
            } else {
                for given in environment.each(setting.name, []) {
                    options = options.adding(setting.option, given.text)
                }
            }
        }
        let address = try provider.authority(environment)?.url ?? ""
        let name = ProposedName.name(for: address, besides: (try? directory.names()) ?? [])
        return options.command("profile add \(name?.text ?? "NAME")")
    }
}

// A profile at a provider where this tool has registered itself, as 'setup' does.
extension LoginCommand {
    /// Signs in. If the provider does not know the client any more, it is registered anew, and the profile names the new one:
    /// before the page, if a refresh has learnt that.
    func signInRegistering(in session: Session, asking question: BrowserQuestion?) async throws {
        let profile = try registeredProfile(session)
        let noted = try notedClient(session)
        if let profile, let noted { try await registerAnew(profile, replacing: noted, session) }
        do {
            try await signIn(in: session, asking: question)
        } catch let error as AuthenticationError where .clientNotRegistered ~= error.code {
            guard noted == nil, let profile, let client = profile.own("client-id") else { throw error }
            try await registerAnew(profile, replacing: ClientID(rawValue: client), session)
            try await signIn(in: session, asking: question)
        }
    }

    /// The person's profile whose client this tool registered at a provider; `nil` also if options name another client.
    private func registeredProfile(_ session: Session) throws -> Profile? {
        let environment = session.environment
        guard let profile = environment.profile, profile.isNamed, profile.own("registered") != nil,
            profile.own("resource") == nil, !provider.namesOne(environment), !finish,
            try ProfileDirectory(environment).isOwn(profile.name)
        else { return nil }
        return profile
    }

    private func registerAnew(_ profile: Profile, replacing client: ClientID, _ session: Session) async throws {
        let environment = session.environment
        let registration = try await ClientRegistration.obtain(
            of: .identityctl,
            at: provider.chosenAuthority(environment),
            cache: provider.cacheOfRegistrations(session),
            transport: provider.transport(environment),
            replacing: client
        )
        let directory = try ProfileDirectory(environment)
        let rows = try directory.text(of: profile.name).split(separator: 0x0A, omittingEmptySubsequences: false)
        let lines = rows.map { row in
            let name = String(decoding: row.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self).filter {
                !$0.isWhitespace
            }
            let line = String(decoding: row, as: UTF8.self)
            return name == "client-id" ? "client-id = \(registration.clientID.rawValue)" : line
        }
        try directory.write(lines.joined(separator: "\n"), as: profile.name, replaces: true)
        session.use(try directory.profile(named: profile.name))
        session.console.line("The provider does not know its registration any more. Registered anew.")
    }
}
