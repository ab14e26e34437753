// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring
import OAuthWire

/// The doctor's look at one client: the store of its tokens, and its account.
struct ClientExamination {
    let options: ProviderOptions
    let environment: Environment
    let session: Session
    /// The keyring's answer, if it was asked before.
    var keyring: Result<KeyringStatus, any Error>?

    /// Throws the keyring's error if the keyring did not answer in time. It is not waited for a second time.
    private func requireAnswer() throws {
        if case .failure(let error) = keyring, (error as? AuthenticationError)?.code == .keyringTimedOut { throw error }
    }

    /// Returns the store of the tokens, if it is known, and a finding on whether the store can be read.
    func tokenStore() async throws -> (TokenStore?, Finding) {
        let choice = try options.cacheChoice(environment)
        if let shared = try await sharedStore(choice) { return shared }
        guard choice.policy != nil else {
            let store = choice.directory == nil ? TokenStore.memory : .file
            return (store, Examination.tokenStore(store, .success(false)))
        }
        guard let group = try options.group(environment) else {
            guard let (store, key) = choice.keyStore else {
                return (nil, .unknown("token store", "not asked: give --profile, --client-id or --group"))
            }
            let isProtected = try await DoctorCommand.outcome { try await key.isProtected() }
            return (store, Examination.tokenStore(store, isProtected))
        }
        let cache = CacheChoice.desktop(.standard, logger: session.logger)
        let remembered = try await DoctorCommand.outcome { try await cache.rememberedStore(of: group) }
        // If the store is not known, the finding says why.
        guard case .success(let store) = remembered, let store = store ?? choice.keyStore?.store else {
            return (nil, Examination.tokenStore(nil, remembered.map { _ in false }))
        }
        let read = try await DoctorCommand.outcome {
            if store.needsKeyring { try requireAnswer() }
            if let key = store.keyFile, try await key.isProtected() { return true }
            try await cache.checkReadable(store, in: group)
            return false
        }
        return (store, Examination.tokenStore(store, read, SharedOptions(options)))
    }

    /// Returns the store, if it is shared with other programs, and a finding on whether it can be read.
    private func sharedStore(_ choice: CacheChoice) async throws -> (TokenStore?, Finding)? {
        let store: TokenStore
        switch choice {
        case .shared: store = .file
        case .sharedItem: store = .keyring
        default: return nil
        }
        let client = try options.clientID ?? environment.given("client-id", nil)?.text ?? ""
        let clientID = ClientID(rawValue: client)
        let read = try await DoctorCommand.outcome {
            if store.needsKeyring { try requireAnswer() }
            let cache = try choice.cache(of: clientID, prompting: .never, passPhrases: nil, logger: session.logger)
            _ = try await cache.records(of: .account, in: .application(clientID))
            return false
        }
        return (store, Examination.tokenStore(store, read))
    }

    /// Returns the account that the client's commands use. No person is asked.
    func account() async throws -> Account {
        let application = try application()
        return try await application.chosenAccount(try environment.given("account", nil))
    }

    /// All accounts of the client.
    func accounts() async throws -> [Account] { try await application().allAccounts() }

    private func application() throws -> PublicClientApplication {
        try session.application(try options.configuration(environment, logger: session.logger))
    }

    /// Returns a note, without its capital and its end, if the last token is still good and no other will follow. Sends nothing.
    ///
    /// - Throws: `.signInExpired` if the cache remembers the end of the sign-in; `UsageError`; `CancellationError`.
    func checkRenewal(of account: Account) async throws -> String? {
        let application = try application()
        guard let renewal = try await application.renewal(of: account), renewal.refusedOn != nil || !renewal.isPossible
        else {
            return nil
        }
        let scopes = try TokenOptions.parse([]).scopes(environment)
        let parameters = SilentParameters(scopes: scopes, account: account, usesCacheOnly: true)
        let token = try await DoctorCommand.outcome { try await application.acquireTokenSilently(parameters) }
        let refused = renewal.refusedOn.map { "the provider refused to renew it at \($0.utcText)" }
        if case .success(let token) = token {
            let why = refused ?? "the provider gave nothing to renew it"
            return "the token is good until \(token.expiresOn.utcText), then a sign-in is needed: \(why)"
        }
        throw AuthenticationError(
            .signInExpired,
            renewal.refusedOn.map { "The provider ended the sign-in: it refused to renew it at \($0.utcText)." }
                ?? "The last token of the sign-in has ended, and the provider gave nothing to renew it."
        )
    }

    /// Returns a sentence on the scopes that the sign-in of `account` did not bring, without its capital and its end.
    ///
    /// - Parameter login: The command that asks for them.
    /// - Throws: `UsageError`, `CancellationError`.
    func missingClaims(of account: Account, login: String) async throws -> String? {
        let scopes = try TokenOptions.parse([]).scopes(environment)
        let application = try application()
        let parameters = SilentParameters(
            scopes: scopes,
            account: account,
            usesCacheOnly: true,
            allowsExpiredToken: true
        )
        // Where the cache has no token, nothing is known of its scopes.
        guard
            case .success(let result) = try await DoctorCommand.outcome({
                try await application.acquireTokenSilently(parameters)
            })
        else { return nil }
        return MissingClaims.text(of: result, wanting: scopes, login: login)
    }
}

/// The doctor's look at all profiles.
struct ProfilesExamination {
    let session: Session
    let keyring: Result<KeyringStatus, any Error>

    /// The profiles, with the lines of each above the variables, or the reason why it cannot be used.
    func environments() throws -> [(name: ProfileName, environment: Result<Environment, any Error>)] {
        guard let directory = try? ProfileDirectory(session.environment) else { return [] }
        return try directory.names().map { name in
            (name, Result { session.environment.above(try directory.profile(named: name)) })
        }
    }

    /// Returns a finding on a profile's sign-in, and whether the profile needs the keyring.
    ///
    /// - Throws: `CancellationError`.
    func finding(
        _ name: ProfileName,
        _ environment: Result<Environment, any Error>
    ) async throws -> (finding: Finding, needsKeyring: Bool) {
        let check = "profile \(name)"
        do {
            let client = ClientExamination(
                options: try ProviderOptions.parse([]),
                environment: try environment.get(),
                session: session,
                keyring: keyring
            )
            let (store, read) = try await client.tokenStore()
            let needsKeyring = store?.needsKeyring ?? true
            if read.state == .lack { return (read.renamed(check), needsKeyring) }
            let place = store.map { ", tokens in '\($0)'" } ?? ""
            let login = SharedOptions().adding("--profile", name.text).command("login")
            do {
                let account = try await client.account()
                let end = account.refreshTokenExpiresOn.map { ", signed in until \($0.utcText) at the latest" } ?? ""
                let found = "\(account.shortLabel)\(place)\(end)"
                do {
                    if let note = try await client.checkRenewal(of: account) {
                        return (.unknown(check, "\(found); \(note): \(login)"), needsKeyring)
                    }
                } catch let ended as AuthenticationError where .signInExpired ~= ended.code {
                    let advice = "\(ended.message) To sign in again, run: \(login)"
                    return (.lack(check, found, advice, .interactionRequired), needsKeyring)
                }
                let missing = try await client.missingClaims(of: account, login: login)
                return (missing.map { .unknown(check, "\(found); \($0)") } ?? .ok(check, found), needsKeyring)
            } catch AuthenticationError.interactionRequired {
                return (.unknown(check, "not signed in; to sign in, run: \(login)"), needsKeyring)
            } catch let choice as AccountNotChosen {
                return (.unknown(check, choice.description), needsKeyring)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return (.lack(check, "it cannot be used", error), false)
        }
    }
}
