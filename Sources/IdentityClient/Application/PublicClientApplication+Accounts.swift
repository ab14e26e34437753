// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import IdentityTelemetry
import Logging
import OAuthWire

extension PublicClientApplication {
    /// Returns the accounts that are signed in at this provider in the cache's group, sorted by username.
    ///
    /// Costs one sweep of the cache and no network. In a group that several programs share, the accounts of all of them
    /// are listed. If the configuration has a broker, the broker is asked for its accounts, too.
    ///
    /// - Throws: `AuthenticationError` of the family `.cache` when the cache cannot be read; `.brokerUnavailable` or `.serverUnavailable`
    ///   when a required broker does not answer; `CancellationError`.
    public func allAccounts() async throws -> [Account] {
        let stored = try await environment.store.allSnapshots().accounts(in: environment.clouds)
        return try await withAccountsOfBroker(stored)
    }

    /// Returns the account with an identifier, or `nil` if it is not signed in.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func account(withID id: Account.ID) async throws -> Account? {
        if configuration.authority.policy == nil {
            let (store, record) = (environment.store, recordID(of: id))
            if let stuck = store.stuck(record) { return stuck.account }
            if let snapshot = try await store.snapshot(for: record) { return snapshot.account }
        }
        return try await allAccounts().first { $0.id == id }
    }

    /// Returns the accounts with a username. There may be several.
    ///
    /// The case of ASCII letters does not count. All other characters are compared by their bytes, so that a letter that
    /// only looks the same names another person.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func accounts(withUsername username: String) async throws -> [Account] {
        try await allAccounts().filter { $0.hasUsername(username) }
    }

    /// Returns the account that a login hint names: the one with this username, otherwise the one whose ID token has the
    /// hint as its `login_hint` claim.
    ///
    /// Usernames are compared as in ``accounts(withUsername:)``, and the claim by its bytes. Costs one sweep of the cache and
    /// no network.
    ///
    /// ```swift
    /// let account = try await app.account(matching: "alice@example.com")
    /// ```
    /// - Throws: `.noTokensFound` when no account matches: sign in with the hint. `.accountSelectionRequired` when several
    ///   match: choose one of the error's ``AuthenticationError/matchingAccounts`` with ``account(withID:)``. The errors of
    ///   ``allAccounts()``.
    public func account(matching loginHint: String) async throws -> Account {
        let accounts = try await allAccounts()
        var matches = accounts.filter { $0.hasUsername(loginHint) }
        if matches.isEmpty { matches = accounts.filter { $0.hasLoginHint(loginHint) } }
        guard let match = matches.first else {
            throw AuthenticationError(
                .noTokensFound,
                "No account with this login hint is signed in here. Sign in interactively, with the hint."
            )
        }
        guard matches.count == 1 else {
            throw AuthenticationError(
                .accountSelectionRequired,
                "\(matches.count) accounts match the login hint: choose one by its identifier, or let the person choose.",
                matchingAccounts: matches.map(\.id)
            )
        }
        return match
    }

    /// Returns the account with Microsoft's home account identifier (`uid.utid`), compared case-insensitively.
    ///
    /// A B2C identifier that names a policy also finds the person's account.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func account(withHomeAccountID homeAccountID: String) async throws -> Account? {
        let wanted = homeAccountID.lowercased()
        let listing = try await environment.store.allSnapshots()
        let found = listing.snapshots.values.filter { snapshot in
            environment.clouds.contain(partition: snapshot.credentials.partition)
                && (snapshot.credentials.homeAccountID.lowercased() == wanted || snapshot.account.id.rawValue == wanted)
        }
        guard let one = found.first(where: { $0.credentials.partition == environment.partition }) ?? found.first else {
            return nil
        }
        return listing.accounts(in: environment.clouds).first { $0.key == one.account.key }
    }

    /// Signs an account out on this computer: removes its tokens, for all programs of the group and all B2C policies.
    ///
    /// Needs no network. The browser keeps its own session with the provider, which ``signOut(_:parameters:)`` can end.
    /// So that this session does not sign the person in again without asking, the next sign-in prompts, unless its
    /// parameters set a prompt. A refresh that is under way does not bring the account back. Removing an account that
    /// is not signed in is not an error. If the configuration has a broker, the broker is asked to remove the account for
    /// this program, too; not every broker can, and then lists the account again.
    ///
    /// - Throws: `AuthenticationError` of the family `.cache` when the cache cannot be written, or when the program's own tokens are
    ///   removed but records of the group's other programs or of other policies could not be read; `CancellationError`.
    public func remove(_ account: Account) async throws {
        let removed = try await AccountRemoval(environment: environment, context: environment.context(nil)).run(account)
        if let failure = removed.failure { throw failure }
    }

    /// Returns, without a request, whether there is a refresh token, and when the provider refused it; `nil` if not signed in.
    package func renewal(of account: Account) async throws -> (isPossible: Bool, refusedOn: Date?)? {
        let token = try await environment.store.snapshot(for: recordID(of: account.id)).map(\.credentials.refreshToken)
        return token.map { ($0 != nil, $0?.refusals.last.map { Date(timeIntervalSince1970: Double($0.at)) }) }
    }

    /// Returns an account as it is now, or `nil` if it is not signed in.
    func signedIn(_ account: Account) async throws -> Account? {
        guard environment.clouds.areSeveral else { return try await self.account(withID: account.id) }
        return try await allAccounts().first { $0.key == account.key }
    }

    func recordID(of id: Account.ID) -> RecordID {
        RecordID(partition: environment.partition, accountID: id.rawValue)
    }
}

extension Account {
    fileprivate func hasUsername(_ name: String) -> Bool {
        guard let username else { return false }
        return username.utf8.elementsEqual(name.utf8) { Self.lowercased($0) == Self.lowercased($1) }
    }

    /// Whether an ID token of the account names the hint with which its person is found at the provider.
    func hasLoginHint(_ hint: String) -> Bool {
        tenantProfiles.contains { profile in
            guard let claims = profile.idTokenClaims, let json = try? JSONObject(parsing: Array(claims.utf8)),
                let known = json.string("login_hint")
            else { return false }  // claims that cannot be read have no hint
            return WireText.areSame(known, hint)
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

// The current account, for programs in which one person works at a time.
extension PublicClientApplication {
    /// Returns the account to work with, and the previous account.
    ///
    /// The current account is the account that signed in last, or was chosen last with ``setCurrentAccount(_:)``, in
    /// this program or in another process with the same client and cache. If only one account is signed in, that
    /// account is the current account. After the current account has signed out, there is no current account until the
    /// next sign-in, and the signed-out account is the previous account: a program that compares the two knows what to
    /// show. The call changes nothing, and costs one sweep of the cache.
    ///
    /// - Throws: `AuthenticationError.Code.accountSelectionRequired` when several accounts are signed in and none was
    ///   chosen: choose one of the error's ``AuthenticationError/matchingAccounts``, or let the person choose. `.cache` when the cache cannot be read;
    ///   `CancellationError`.
    public func currentAccount() async throws -> CurrentAccount {
        let signedIn = try await allAccounts()
        let inUse = try await environment.accountsInUse.value()
        guard let accounts = inUse.accounts(among: signedIn) else {
            throw AuthenticationError(
                .accountSelectionRequired,
                "\(signedIn.count) accounts are signed in, and none was chosen: set the current account.",
                matchingAccounts: signedIn.map(\.id)
            )
        }
        return accounts
    }

    /// Makes a signed-in account the current account, for all processes with the same client and cache.
    ///
    /// - Throws: `AuthenticationError.Code.noTokensFound` when the account is not signed in; `.cache` when the cache
    ///   cannot be read or written; `CancellationError`.
    public func setCurrentAccount(_ account: Account) async throws {
        guard let account = try await signedIn(account) else {
            throw AuthenticationError(.noTokensFound, "This account is not signed in here.")
        }
        try await environment.accountsInUse.update { $0.choose(account) }
    }
}

extension PublicClientApplication {
    /// Returns the sign-ins and sign-outs at this provider from now on, in this program and in programs that share its
    /// records.
    ///
    /// ```swift
    /// let changes = try await app.accountChanges()
    /// show(try await app.allAccounts())
    /// for await change in changes { … }
    /// ```
    ///
    /// A program that runs for long learns by ``AccountChange/Kind/signedIn`` that a person signed in again, in whatever
    /// process. No change is lost between the two calls. Changes between two elements of the sequence are summed up: an account
    /// that signed in and out again in between does not appear. A refresh is a change only if the provider sends new
    /// data about the person.
    ///
    /// A change is reported at once if the cache gives hints, as memory and existing files do, otherwise within 1.5 s.
    /// While the cache cannot be read, nothing is reported, and no account counts as signed out. The sequence ends when
    /// its task is cancelled; everything that it uses is freed with it.
    ///
    /// - Throws: `AuthenticationError` of the family `.cache` when the cache cannot be read now; `CancellationError`.
    public func accountChanges() async throws -> AsyncStream<AccountChange> {
        try await accountChanges(pace: CachePace())
    }

    func accountChanges(pace: CachePace) async throws -> AsyncStream<AccountChange> {
        let store = environment.store
        let (clientID, clouds) = (environment.clientID, environment.clouds)
        let watch = CacheWatch<CredentialStore.Listing, AccountChange>(
            [.init(cache: store.cache, group: store.group)],
            kinds: [.account],
            pace: pace,
            logger: configuration.logger ?? Logger.current,
            read: { _ in try await store.allSnapshots() },
            changes: { old, new in
                guard old !== new else { return [] }
                return AccountChange.changes(
                    from: old.accounts(in: clouds),
                    to: new.accounts(in: clouds),
                    signIns: (old.signIns(of: clientID, in: clouds), new.signIns(of: clientID, in: clouds))
                )
            }
        )
        try await watch.begin()
        return AsyncStream { await watch.next() }
    }
}

extension PublicClientApplication {
    /// Returns the accounts that are signed in here, and those that the broker has besides.
    ///
    /// A broker that cannot be asked has none, unless the program requires it.
    func withAccountsOfBroker(_ stored: [Account]) async throws -> [Account] {
        let (use, clouds) = (configuration.broker, environment.clouds)
        guard let broker = use.broker else { return stored }
        let context = environment.context(nil)
        let found: [Account]
        do {
            found = try await AuthenticationError.ofBroker(context) {
                try await broker.accounts(for: configuration.clientID)
            }
        } catch let error as AuthenticationError where !use.isRequired {
            context.logger.debug(
                "The identity broker's accounts could not be listed",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return stored
        }
        var accounts = stored
        for account in found where clouds.contain(scope: "entra|" + account.key.cloud) {
            let account = account.at(clouds.authority(of: account).environment)
            if !accounts.contains(where: { $0.key == account.key }) { accounts.append(account) }
        }
        return accounts.sorted { ($0.username ?? "", $0.id.rawValue) < ($1.username ?? "", $1.id.rawValue) }
    }
}

extension Account {
    /// The same account under the name of the cloud that the library uses.
    fileprivate func at(_ environment: String) -> Account {
        Account(
            id: id,
            environment: environment,
            username: username,
            homeAccountID: homeAccountID,
            tenantProfiles: tenantProfiles,
            refreshTokenExpiresOn: refreshTokenExpiresOn
        )
    }
}

extension PublicClientApplication {
    /// Signs an account out: first on this computer, as ``remove(_:)`` does, then, as `parameters` ask, at the provider.
    ///
    /// Once the account is removed, no failure brings it back or throws: the result describes the outcome of each part.
    /// Each request takes at most the configuration's request time-out, and the browser at most
    /// `SignOutParameters/timeout`. If the task is cancelled after the removal, the call ends at once. Tokens are still
    /// revoked as long as the process lives, but the browser is not opened.
    ///
    /// ```swift
    /// var parameters = SignOutParameters()
    /// parameters.revokesTokens = true
    /// parameters.endsBrowserSession = true
    /// let result = try await app.signOut(account, parameters: parameters)
    /// ```
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` when a parameter is not acceptable, and `.cache` when the account
    ///   could not be removed; then the provider is not asked. If only records of the group's other programs or of
    ///   other B2C policies could not be read or removed, `.cache` is thrown after everything else is done.
    ///   `CancellationError`.
    /// - SeeAlso: [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009),
    ///   [RP-Initiated Logout](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)
    @discardableResult
    public func signOut(
        _ account: Account,
        parameters: SignOutParameters = SignOutParameters()
    ) async throws -> SignOutResult {
        let flow = SignOutFlow(environment: environment, context: environment.context(parameters.correlationID))
        return try await flow.run(account, parameters)
    }
}

extension PublicClientApplication {
    /// Returns the claims that the provider's UserInfo endpoint has about an account.
    ///
    /// Each call asks the provider; nothing is cached or stored. Entra ID's ID token already has every claim of its
    /// endpoint. The access token comes from the cache or a refresh, and is renewed once if the endpoint refuses it. The
    /// answer is JSON, or a JWT with a signature like an ID token's, and is used only if it is about the person of the ID
    /// token (`sub`). It has at most 1 MiB, and each request takes at most the configuration's request time-out.
    ///
    /// ```swift
    /// let claims = try await app.userInfo(for: account)
    /// show(claims.name ?? account.displayName)
    /// ```
    ///
    /// - Parameters:
    ///   - account: The account, from a result or from `allAccounts()`.
    ///   - scopes: The scopes of the access token that is sent. `nil`, the default, means a token in the cache that was
    ///     granted `openid`, otherwise a token without an API's scope.
    ///   - authority: Another authority of the same kind and cloud, such as a tenant or a B2C policy; `nil` means the
    ///     configured authority.
    /// - Throws: The errors of ``acquireTokenSilently(_:)``; `.invalidResponse` and its second
    ///   levels when the answer is about another person, is not believed or cannot be read, among them `.malformedResponse`
    ///   and `.untrustedAuthority`; `.unsupported` when the provider publishes no endpoint or encrypts the answer; `.interactionRequired` when the endpoint refuses a new token or demands more of
    ///   the sign-in; `CancellationError`.
    /// - SeeAlso: [OpenID Connect Core §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)
    public func userInfo(
        for account: Account,
        scopes: Set<Scope>? = nil,
        authority: Authority? = nil
    ) async throws -> IdentityClaims {
        let context = environment.context(nil)
        let flow = UserInfoFlow(refresher: refresher, context: context)
        return try await environment.observing(.userInfo, context, about: account) {
            try await flow.run(account, scopes: scopes, authority: authority)
        }
    }
}

extension PublicClientApplication {
    /// Returns what the provider says about an account's access token: whether it is still good, and what for.
    ///
    /// The token is the one that ``acquireTokenSilently(scopes:account:)`` would give, from the cache or a refresh. It is not
    /// renewed if the provider calls it inactive: acquire another one with `SilentParameters.forcesRefresh`. Each call asks
    /// the provider, and nothing is stored.
    ///
    /// RFC 7662 §2.1 demands that the provider authorizes the caller, so many providers answer only clients with a secret,
    /// or only APIs. The ID token and ``AuthenticationResult/scopes`` need no such request.
    ///
    /// ```swift
    /// let told = try await app.introspectToken(of: account, scopes: ["api.read"])
    /// ```
    ///
    /// - Parameters:
    ///   - account: The account, from a result or from `allAccounts()`.
    ///   - scopes: The scopes of the access token.
    ///   - authority: Another authority of the same kind and cloud, such as a tenant; `nil` means the configured authority.
    /// - Throws: The errors of ``acquireTokenSilently(_:)``; `.unsupported` when the provider publishes no endpoint;
    ///   `.clientNotRegistered` when it does not tell this client; errors of the family `.invalidResponse` when the answer
    ///   cannot be read, among them `.untrustedAuthority`; `CancellationError`.
    /// - SeeAlso: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
    public func introspectToken(
        of account: Account,
        scopes: Set<Scope>,
        authority: Authority? = nil
    ) async throws -> TokenIntrospection {
        let context = environment.context(nil)
        let flow = IntrospectionFlow(refresher: refresher, context: context)
        return try await environment.observing(.introspectToken, context, about: account) {
            try await flow.run(account, scopes: scopes, authority: authority)
        }
    }
}
