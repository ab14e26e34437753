// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import SystemSupport

/// A sign-in, whatever its grant: the provider, what is asked of it, and the key of the tokens.
///
/// A flow makes its grant's form and judges its refusals; this redeems it, and validates and stores the answer.
struct SignIn: Sendable {
    /// The origin of the tokens' key.
    enum Key {
        /// The scheme's; at an authority that binds tokens, a new one.
        case new(AuthenticationScheme)
        /// The key of a sign-in that was prepared before; `nil` for bearer tokens.
        case kept(TokenProof?)
    }

    var environment: FlowEnvironment
    var context: RequestContext
    var authority: Authority
    var metadata: ProviderMetadata
    /// The account that the program asked for, if any.
    let account: Account?
    /// The scopes that the program requested.
    let scopes: Set<Scope>
    /// The scopes of the request: the program's, and those that the library adds.
    var asked: [String]
    /// The claims request that is sent. Its essential `acr` is checked.
    var claims: String?
    /// The key that the access token is requested for; `nil` for a bearer token.
    let proof: TokenProof?
    var source = AuthenticationResult.Source.identityProvider
    /// Whether the refresh token of an answer that is not stored is revoked. One that a program has elsewhere is not.
    var revokesUnwanted = true

    /// Makes every check that is possible before a person begins or a grant is spent, and finds the provider.
    ///
    /// - Parameters:
    ///   - named: The call's own authority, or `nil` for the configured authority.
    ///   - account: The account to sign in, whose cloud it is; `nil` if the call names none.
    ///   - requiresPersistence: Whether a cache that cannot be written ends the sign-in.
    init(
        _ environment: FlowEnvironment,
        _ context: RequestContext,
        at named: Authority?,
        for account: Account? = nil,
        scopes: Set<Scope>,
        claims: String? = nil,
        key: Key = .new(.bearer),
        requiresPersistence: Bool = false
    ) async throws {
        let configuration = environment.configuration
        let own = try scopes.checked()
        self.claims = try ClaimsParameter.merged(claims, configuration.clientCapabilities)
        authority = try environment.clouds.authority(named, of: account)
        try configuration.checkNamesOpenID(scopes, at: authority)
        try await environment.checkPersistence(isRequired: requiresPersistence, context)
        metadata = try await environment.resolver.metadata(for: authority, context: context)
        asked = own.appendingMissing(configuration.scopesToAdd(for: authority, metadata))
        switch key {
        case .new(let scheme): proof = try await environment.proofOfSignIn(scheme, at: authority, metadata)
        case .kept(let kept): proof = kept
        }
        (self.environment, self.context, self.account, self.scopes) = (environment, context, account, scopes)
    }

    /// The token endpoint. Each request proves the key, and asks for tokens that are bound to it.
    var endpoint: TokenEndpoint {
        var endpoint = TokenEndpoint(environment, authority, metadata, context, provenBy: proof?.dpop)
        endpoint.parameters += proof?.binding.parameters ?? []
        return endpoint
    }

    /// The scopes and the claims of a request to the token endpoint, which Microsoft's alone repeat from the page's address.
    var repeated: (scopes: [String], claims: String?) { authority.isMicrosoft ? (asked, claims) : ([], nil) }

    /// Fetches the keys of ID tokens, before a grant is spent whose answer is checked with them.
    func fetchKeys() async throws {
        guard authority.issuesIDTokens else { return }
        let validation = GrantValidation(environment: environment, context: context)
        if let failure = await validation.fetchKeys(metadata, of: authority) { throw failure }
    }

    /// Validates and stores an answer.
    ///
    /// - Parameters:
    ///   - nonce: The value that the ID token has to repeat; `nil` if the request could have none.
    ///   - required: The way in which the person must have authenticated.
    ///   - maxAge: The most seconds since the person authenticated; `nil` if the program set no limit.
    ///   - hasParameters: Whether the request had the program's own parameters.
    ///   - advice: The error's text if the provider gives no ID token with this grant; `nil` if each must.
    func finish(
        _ response: TokenResponse,
        nonce: String? = nil,
        required: RequiredAuthentication = RequiredAuthentication(),
        maxAge: Int? = nil,
        hasParameters: Bool = true,
        withoutIDToken advice: String? = nil
    ) async throws -> AuthenticationResult {
        let mayBeBearer = authority.dpop == .whenOffered && response.tokenType?.lowercased() == "bearer"
        let proof = mayBeBearer ? nil : proof
        var grant: TokenGrant
        do {
            if let advice, authority.issuesIDTokens, response.fault == nil, response.idToken == nil {
                throw context.error(.unsupported, advice)
            }
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
        if case .failed(let error) = result.persistence {
            let code = error.code.rawValue
            context.logger.warning("The sign-in is not stored yet (\(code)), and would end with the program")
        }
        let wanted = rule.matchable(scopes.map(\.rawValue))
        guard wanted.isEmpty || !wanted.isDisjoint(with: token.granted) else {
            throw context.error(
                .scopesDeclined,
                "The person is signed in, but none of the requested scopes was granted."
            )
        }
        let hasNone = source != .broker && response.refreshToken == nil && asked.contains("offline_access")
        return (hasNone ? result.withoutRefreshToken() : result).proven(by: proof)
    }
}

// The end of a sign-in: its tokens are stored, or are of no use to anybody.
extension SignIn {
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
        guard let account, authority.issuesIDTokens, account.id != grant.identity.accountID else { return }
        throw context.error(
            .accountMismatch,
            """
            \(Self.name(grant.profile?.username, grant.identity.accountID)) signed in, but \
            \(Self.name(account.username, account.id)) was requested. Nothing was stored. Sign in again with the requested account.
            """
        )
    }

    /// An account in a message: the name that a person knows, or else the identifier, which are a provider's words.
    private static func name(_ username: String?, _ id: Account.ID) -> String {
        WireText.quoted(username ?? id.rawValue)
    }

    private func store(_ grant: TokenGrant, _ key: DPoPKey?) async throws -> CredentialSnapshot? {
        var identity = grant.identity
        if !authority.issuesIDTokens, let account {
            identity.accountID = account.id
            identity.homeAccountID = account.homeAccountID
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
        fresh.localServers = LocalServers(at: [metadata.tokenEndpoint, authority.resource])
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
    /// Checks, before the person begins, whether the tokens of a sign-in can be stored.
    ///
    /// - Parameter isRequired: Whether a cache that cannot be written ends the sign-in. The cache is checked in any
    ///   case, so that a locked keyring is unlocked now rather than behind the browser.
    /// - Throws: The cache's error, as `.cache`, if `isRequired` is `true`; `CancellationError`.
    fileprivate func checkPersistence(isRequired: Bool, _ context: RequestContext) async throws {
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
