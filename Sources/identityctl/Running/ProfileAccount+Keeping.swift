// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// The accounts are beside the tokens, and not in the profiles: those may be read-only, or shared by several machines.
extension ProfileDirectory {
    /// Returns the account of a profile's first sign-in, or `nil` if there is none or a line of the profile names one.
    ///
    /// - Throws: `UsageError` for a file that cannot be trusted; `SystemFailure`.
    func account(of profile: Profile) throws -> ProfileAccount? {
        guard !profile.namesAccount, let path = accountPath(of: profile.name), let bytes = try bytes(at: path) else {
            return nil
        }
        return try ProfileAccount(parsing: bytes, of: profile.clientAndProvider, path: path)
    }

    /// Keeps the account of a profile.
    ///
    /// - Throws: `UsageError` without a place for it; `SystemFailure`.
    func keep(_ account: ProfileAccount, of profile: Profile) throws {
        guard let path = accountPath(of: profile.name) else {
            throw UsageError("There is no home directory for the account of a profile: set HOME.")
        }
        try PlainFile.write(account.content(of: profile.clientAndProvider), to: path)
    }

    /// Forgets the account of a profile that is removed, or made anew.
    func forgetAccount(of name: ProfileName) {
        if let path = accountPath(of: name) { _ = PlainFile.remove(path) }
    }
}

extension Session {
    /// Makes the account that signed in the profile's, if the profile has none yet, and says so if it has another.
    func keepAccountOfProfile(
        _ account: Account,
        _ options: ProviderOptions,
        _ application: PublicClientApplication
    ) async {
        guard let profile = environment.profile, profile.keepsAccount, !profile.namesAccount else { return }
        if let own = profile.account, !own.isSignedOut, await !own.isGone(application) {
            guard own.id != account.id.rawValue else { return }
            let command = options.shared().ofProviderAndCache.adding("--default", account.id.rawValue)
            return console.line(
                "The profile '\(profile.name)' stays \(own.label)'s. To give it to \(account.shortLabel), run: "
                    + command.command("accounts")
            )
        }
        setAccountOfProfile(ProfileAccount(of: account))
    }

    /// Makes the account whose token is used the profile's, if the profile has none yet and no other account is signed in for its
    /// client and resource, and says so. If that cannot be kept, the next use tries again.
    func bindProfile(to account: Account) async throws {
        guard let profile = environment.profile, profile.isNamed, profile.keepsAccount, profile.account == nil,
            !profile.namesAccount, let application = made, try await application.allAccounts().count == 1
        else { return }
        let own = ProfileAccount(of: account)
        guard (try? ProfileDirectory(environment).keep(own, of: profile)) != nil else { return }
        use(profile.belonging(to: own))
        console.line(
            "The profile '\(profile.name)' is \(account.shortLabel)'s from now on: the only account that is signed in."
        )
    }

    /// Makes an account the profile's, in place of any other.
    ///
    /// - Returns: Whether there is a profile that takes one.
    @discardableResult
    func setAccountOfProfile(_ account: ProfileAccount) -> Bool {
        guard let profile = environment.profile, profile.keepsAccount, !profile.namesAccount else { return false }
        do {
            try ProfileDirectory(environment).keep(account, of: profile)
            use(profile.belonging(to: account))
            return true
        } catch {
            console.line(
                "Warning: it could not be kept that the profile '\(profile.name)' is \(account.label)'s, so that it goes with "
                    + "the default account. \(PlainReport.sentence(error))"
            )
            return false
        }
    }

    /// Notes that the profile's account was signed out with it.
    func signedOutOfProfile(_ isConcerned: (ProfileAccount) -> Bool) {
        guard var account = environment.profile?.account, !account.isSignedOut, isConcerned(account) else { return }
        account.isSignedOut = true
        setAccountOfProfile(account)
    }
}

extension ProfileAccount {
    /// Whether the account is gone at a server that tells no person from another: the next sign-in there makes
    /// another account, which is then the profile's.
    fileprivate func isGone(_ application: PublicClientApplication) async -> Bool {
        guard !application.configuration.authority.issuesIDTokens else { return false }
        do {
            return try await application.account(withID: Account.ID(rawValue: id)) == nil
        } catch {
            return false  // what cannot be read now may be there
        }
    }
}
