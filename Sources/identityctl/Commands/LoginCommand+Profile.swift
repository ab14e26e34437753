// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// The account of a profile's first sign-in, when its person, or another one, signs in again.
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
