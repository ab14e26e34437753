// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import SystemSupport

/// The last step of every sign-in: validates and stores its tokens.
struct SignInCommit: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority
    let metadata: ProviderMetadata
    /// The account that the program asked for, if any.
    let wanted: Account?
    /// The scopes that the program requested.
    let scopes: Set<Scope>
    /// The key that the access token was requested for; `nil` for a bearer token.
    var proof: TokenProof?
    var source = AuthenticationResult.Source.identityProvider
    /// Whether the refresh token of an answer that is not stored is revoked. One that a program has elsewhere is not.
    var revokesUnwanted = true
    /// Whether the request had the program's own parameters.
    var hasParameters = true

    /// Validates and stores an answer.
    ///
    /// - Parameters:
    ///   - asked: The scopes of the request, including those that the library added.
    ///   - nonce: The value that the ID token has to repeat; `nil` if the request could have none.
    ///   - claims: The claims request that was sent. Its essential `acr` is checked.
    ///   - required: The way in which the person must have authenticated.
    ///   - maxAge: The most seconds since the person authenticated; `nil` if the program set no limit.
    func run(
        _ response: TokenResponse,
        asked: [String],
        nonce: String?,
        claims: String?,
        required: RequiredAuthentication = RequiredAuthentication(),
        maxAge: Int?
    ) async throws -> AuthenticationResult {
        let proof = authority.dpop == .whenOffered && response.tokenType?.lowercased() == "bearer" ? nil : proof
        var grant: TokenGrant
        do {
            grant = try await GrantValidation(environment: environment, context: context).signInGrant(
                response,
                authority: authority,
                metadata: metadata,
                nonce: nonce,
                essentialACR: ClaimsParameterText.essentialACR(in: claims),
                required: required,
                maxAge: maxAge,
                binding: proof?.binding,
                requestedScopes: asked
            )
            try checkPerson(grant)
        } catch {
            await revoke(response)
            throw error
        }
        if !hasParameters { grant.parameterTag = 0 }
        let stored = try await regardlessOfCancellation { [self, grant] in
            try await committed(grant, proof?.dpop, from: response)
        }
        guard let token = grant.accessToken(at: environment.clock.unixSeconds) else {
            throw AuthenticationError(.malformedResponse, "The provider issued no access token.")
        }
        await remember(stored.account)
        let rule = authority.scopeRule
        let acquired = AcquiredToken(
            snapshot: stored,
            token: token,
            source: source,
            correlationID: context.correlationID
        )
        let result = AuthenticationResult(acquired, requested: scopes, rule: rule)
        let wanted = rule.matchable(scopes.map(\.rawValue))
        guard wanted.isEmpty || !wanted.isDisjoint(with: token.granted) else {
            throw context.error(
                .scopesDeclined,
                "The person is signed in, but none of the requested scopes was granted."
            )
        }
        let lacksRefreshToken = source != .broker && response.refreshToken == nil && asked.contains("offline_access")
        return (lacksRefreshToken ? result.lackingRefreshToken() : result).proven(by: proof)
    }

    /// Stores the tokens, or revokes the refresh token: it does not stay valid without a record that has it.
    private func committed(
        _ grant: TokenGrant,
        _ key: DPoPKey?,
        from response: TokenResponse
    ) async throws -> CredentialSnapshot {
        do {
            guard let stored = try await store(grant, key) else { throw AuthenticationError.removed(context) }
            return stored
        } catch {
            await revoke(response)
            throw error
        }
    }

    /// Revokes the refresh token of an answer that failed a check, is about another person, or cannot be stored. A caller
    /// that is cancelled does not wait for it.
    private func revoke(_ response: TokenResponse) async {
        guard revokesUnwanted else { return }
        // Only the wait can fail, by cancellation; the error that ended the sign-in is thrown.
        try? await regardlessOfCancellation { await revokeUnlessSignedIn(response) }
    }

    /// It is not revoked if that person is signed in here, because some providers would end that sign-in, too.
    private func revokeUnlessSignedIn(_ response: TokenResponse) async {
        // The answer failed a check; its claims serve only to find the accounts to spare.
        let claims = response.idToken.flatMap { try? JSONWebToken(compact: $0) }?.claims
        let identity = AccountIdentity(
            authority: authority,
            clientInfo: response.clientInfo.flatMap(ClientInfo.parse),
            issuer: claims?.string("iss"),
            subject: claims?.string("sub")
        )
        if let identity {
            let id = RecordID(authority: authority, account: identity.accountID)
            do {
                guard try await environment.store.snapshot(for: id) == nil else { return }
            } catch { return }  // unknown whether the person is signed in
        }
        await Revocation(environment: environment, context: context).revokeUnwanted(
            response.refreshToken,
            authority,
            metadata,
            provenBy: proof?.dpop
        )
    }

    private func checkPerson(_ grant: TokenGrant) throws {
        guard let wanted, authority.issuesIDTokens, wanted.id != grant.identity.accountID else { return }
        throw context.error(
            .accountMismatch,
            """
            \(Self.name(grant.profile?.username, grant.identity.accountID)) signed in, but \
            \(Self.name(wanted.username, wanted.id)) was requested. Nothing was stored. Sign in again with the requested account.
            """
        )
    }

    /// An account in a message: the name that a person knows, or else the identifier, which are a provider's words.
    private static func name(_ username: String?, _ id: Account.ID) -> String {
        "'\(WireText.clean(username ?? id.rawValue))'"
    }

    private func store(_ grant: TokenGrant, _ key: DPoPKey?) async throws -> CredentialSnapshot? {
        var identity = grant.identity
        if !authority.issuesIDTokens, let wanted {
            identity.accountID = wanted.id
            identity.homeAccountID = wanted.homeAccountID
        }
        let now = environment.clock.unixSeconds
        let id = RecordID(authority: authority, account: identity.accountID)
        var fresh = AccountCredentials(
            signInID: SecureRandom.token(bytes: 16),
            partition: id.partition,
            environment: authority.environment,
            clientID: environment.clientID,
            accountID: identity.accountID,
            homeAccountID: identity.homeAccountID
        )
        fresh.dpopKey = key
        return try await environment.store.commit(id, .signIn(fresh, grant), at: now)
    }

    /// Makes the account the current account. A cache that cannot be written does not fail the sign-in.
    private func remember(_ account: Account) async {
        do {
            try await environment.accountsInUse.update { $0.signIn(account) }
        } catch {
            let reason = (error as? AuthenticationError)?.shortDescription ?? "\(type(of: error))"
            context.logger.debug(
                "The signed-in account could not be stored as the current account",
                metadata: ["identity.error": "\(reason)"]
            )
        }
    }
}

extension FlowEnvironment {
    /// Returns the provider that a sign-in goes to, after every check that is possible beforehand.
    ///
    /// - Parameters:
    ///   - named: The call's own authority, or `nil` for the configured authority.
    ///   - account: The account to sign in, whose cloud it is; `nil` if the call names none.
    func signInTarget(
        _ named: Authority?,
        for account: Account?,
        scopes: Set<Scope>,
        requiresPersistence: Bool,
        _ context: RequestContext
    ) async throws -> (Authority, ProviderMetadata) {
        let authority = try clouds.authority(named, of: account)
        try configuration.checkNamesOpenID(scopes, at: authority)
        try await checkPersistence(isRequired: requiresPersistence, context)
        return (authority, try await resolver.metadata(for: authority, context: context))
    }

    /// Checks, before the person begins, whether the tokens of a sign-in can be stored.
    ///
    /// - Parameter isRequired: Whether a cache that cannot be written ends the sign-in. The cache is checked in any
    ///   case, so that a locked keyring is unlocked now rather than behind the browser.
    /// - Throws: The cache's error, as `.cache`, if `isRequired` is `true`; `CancellationError`.
    private func checkPersistence(isRequired: Bool, _ context: RequestContext) async throws {
        do {
            try await store.checkWritable()
        } catch let error as AuthenticationError where !isRequired {
            context.logger.debug(
                "The tokens of this sign-in cannot be stored now",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
