// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityKeyring
import OAuthWire

/// The doctor's look at one client: the store of its tokens, and its account.
struct ClientExamination {
    let options: ProviderOptions
    let environment: Variables
    let session: Session
    /// The keyring's answer, if it was asked before.
    var keyring: Result<KeyringStatus, any Error>?

    /// Throws the keyring's error if the keyring did not answer in time. It is not waited for a second time.
    private func requireAnswer() throws {
        if case .failure(let error) = keyring, (error as? AuthenticationError)?.code == .keyringTimedOut { throw error }
    }

    /// Returns the store of the tokens, if it is known, and a finding on whether the store can be read.
    func tokenStore() async throws -> (TokenLocation?, Finding) {
        let choice = try options.cacheChoice(environment)
        if let shared = try await sharedStore(choice) { return shared }
        guard choice.policy != nil else {
            let store = choice.directory == nil ? TokenLocation.memory : .file
            return (store, Examination.tokenStore(store, .success(false)))
        }
        guard let group = try options.group(environment) else {
            guard let store = choice.store else {
                return (nil, .unknown("token store", "not asked: give --profile, --client-id or --group"))
            }
            let isProtected = try await DoctorCommand.outcome { try await store.keyFile?.isProtected() ?? false }
            return (store, Examination.tokenStore(store, isProtected))
        }
        let cache = CacheChoice.desktop(.standard, logger: session.logger)
        let remembered = try await DoctorCommand.outcome { try await cache.rememberedStore(of: group) }
        // If the store is not known, the finding says why.
        guard case .success(let store) = remembered, let store = store ?? choice.store else {
            return (nil, Examination.tokenStore(nil, remembered.map { _ in false }))
        }
        let read = try await DoctorCommand.outcome {
            if store.needsKeyring { try requireAnswer() }
            if let key = store.keyFile, try await key.isProtected() { return true }
            try await cache.checkReadable(store, in: group)
            return false
        }
        return (store, Examination.tokenStore(store, read, options.shared()))
    }

    /// Returns the store, if it is shared with other programs, and a finding on whether it can be read.
    private func sharedStore(_ choice: CacheChoice) async throws -> (TokenLocation?, Finding)? {
        let store: TokenLocation
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
        try session.application(options, under: environment, asksPassPhrases: false)
    }

    /// Returns what is known of the sign-in of an account. Sends nothing.
    ///
    /// - Throws: `UsageError`, the errors of the cache, `CancellationError`.
    func state(of account: Account) async throws -> SignInState {
        let application = try application()
        let renewal = try await application.renewal(of: account)
        let forgotten = try environment.profile.flatMap { try KnownResources(environment).forgotten($0) }
        var end: SignInState.End?
        if let renewal, forgotten != nil || renewal.refusedOn != nil || !renewal.isPossible {
            end = SignInState.End(since: forgotten ?? renewal.refusedOn, isOfRegistration: forgotten != nil)
        }
        let scopes = try TokenOptions.ungiven.scopes(environment)
        let parameters = SilentParameters(scopes: scopes, account: account, usesCacheOnly: true)
        let token = try await DoctorCommand.outcome { try await application.acquireTokenSilently(parameters) }
        if case .success(let token) = token { return .good(until: token.expiresOn, end) }
        return end.map(SignInState.ended) ?? .unasked
    }

    /// Returns a note, without its capital and its end, if the last token is still good and no other will follow. Sends nothing.
    ///
    /// - Throws: `.signInExpired` if the cache remembers the end of the sign-in; `UsageError`; `CancellationError`.
    func checkRenewal(of account: Account) async throws -> String? {
        switch try await state(of: account) {
        case .unasked, .good(_, nil): nil
        case .good(let until, let end?):
            "the token is good until \(until.utcText), then a sign-in is needed: \(end.reason)"
        case .ended(let end): throw AuthenticationError(.signInExpired, end.message)
        }
    }

    /// Returns a sentence on the scopes that the sign-in of `account` did not bring, without its capital and its end.
    ///
    /// - Parameter login: The command that asks for them.
    /// - Throws: `UsageError`, `CancellationError`.
    func missingClaims(of account: Account, login: String) async throws -> String? {
        let scopes = try TokenOptions.ungiven.scopes(environment)
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

/// A profile, as the doctor found it.
struct ExaminedProfile {
    var finding: Finding
    var needsKeyring = false
    /// The provider, and the directory of its own for the tokens; `nil` without one, or if a line cannot be used.
    var provider: ReachableProvider?
    var directory: String?
}

/// A provider, and the way to it.
struct ReachableProvider {
    let authority: Authority
    let transport: CurlTransport

    /// - Returns: `nil` if none is named.
    init?(_ options: ProviderOptions, _ environment: Variables) throws {
        guard let authority = try options.authority(environment) else { return nil }
        (self.authority, transport) = (authority, try options.transport(environment))
    }
}

/// The doctor's look at all profiles.
struct ProfilesExamination {
    let session: Session
    let keyring: Result<KeyringStatus, any Error>
    /// The profiles; `nil` without a home directory.
    let directory: ProfileDirectory?

    /// - Throws: `CancellationError`.
    func profiles() async throws -> [ExaminedProfile] {
        guard let directory else { return [] }
        let names: [ProfileName]
        do { names = try directory.names() } catch {
            return [ExaminedProfile(finding: .lack("profiles", "they cannot be read", error))]
        }
        var examined: [ExaminedProfile] = []
        for name in names {
            let lines = Result { session.environment.above(try directory.profile(named: name)) }
            var profile = try await examine(name, lines)
            if directory.isUnused(name) {
                profile = ExaminedProfile(finding: profile.finding.notNeeded("before you sign in with it"))
            }
            examined.append(profile)
        }
        return examined
    }

    private func examine(
        _ name: ProfileName,
        _ lines: Result<Variables, any Error>
    ) async throws -> ExaminedProfile {
        let check = "profile \(name)"
        var profile = ExaminedProfile(finding: .unknown(check, "not looked at"))
        do {
            let (environment, options) = (try lines.get(), try ProviderOptions.ungiven)
            if let desktop = try GNOMEAccounts(environment.profile) {
                let account = try await desktop.accountName(environment.given("account", nil))
                profile.finding = .ok(check, "\(account), signed in by GNOME Online Accounts")
                profile.finding.profiles = [name.text]
                return profile
            }
            profile.provider = try? ReachableProvider(options, environment)  // the finding reports a mistake
            profile.directory = try options.cacheChoice(environment).directory
            let client = ClientExamination(
                options: options,
                environment: environment,
                session: session,
                keyring: keyring
            )
            let (store, read) = try await client.tokenStore()
            let place = store.map { ", tokens in '\($0)'" } ?? ""
            profile.finding = read.state == .lack ? read.renamed(check) : try await signIn(check, name, client, place)
            profile.needsKeyring = store?.needsKeyring ?? true
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            profile.finding = .lack(check, "it cannot be used", error)
        }
        profile.finding.profiles = [name.text]
        return profile
    }

    /// - Parameter place: The store, in words after the account's.
    private func signIn(
        _ check: String,
        _ name: ProfileName,
        _ client: ClientExamination,
        _ place: String
    ) async throws -> Finding {
        let options = SharedOptions().adding("--profile", name.text)
        let login = options.command("login")
        do {
            let account = try await client.account()
            let end = account.refreshTokenExpiresOn.map { ", signed in until \($0.utcText) at the latest" } ?? ""
            let found = "\(account.shortLabel)\(place)\(end)"
            switch try await DoctorCommand.outcome({ try await client.checkRenewal(of: account) }) {
            case .success(let note?): return .unknown(check, "\(found); \(note): \(login)")
            case .failure(let error): return .lack(check, found, error, signingInWith: options)
            case .success(nil): break
            }
            let missing = try await client.missingClaims(of: account, login: login)
            return missing.map { .unknown(check, "\(found); \($0)") } ?? .ok(check, found)
        } catch AuthenticationError.Code.interactionRequired {
            return .unknown(check, "not signed in; to sign in, run: \(login)")
        } catch let choice as AccountNotChosen {
            return .unknown(check, choice.description)
        }
    }
}
