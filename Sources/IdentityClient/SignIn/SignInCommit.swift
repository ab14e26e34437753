// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Believes and stores what a sign-in yielded, whichever way it came.
struct SignInCommit: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority
    let metadata: AuthorityMetadata
    /// Whom the program asked for, if anybody.
    let wanted: Account?
    /// The scopes that the program asked for.
    let scopes: Set<Scope>

    /// - Parameters:
    ///   - asked: The scopes of the request, the library's own among them.
    ///   - nonce: What the ID token has to repeat; `nil` where the request could have none.
    ///   - claims: The claims request that was sent, whose essential `acr` counts.
    ///   - maxAge: Seconds since the person was asked, at most; `nil` where that was not wanted.
    func run(
        _ response: TokenResponse,
        asked: [String],
        nonce: String?,
        claims: String?,
        maxAge: Int?
    ) async throws -> AuthenticationResult {
        let grant: TokenGrant
        do {
            grant = try await GrantValidation(environment: environment, context: context).signInGrant(
                response,
                authority: authority,
                metadata: metadata,
                nonce: nonce,
                essentialACR: ClaimsRequest.essentialACR(in: claims),
                maxAge: maxAge,
                requestedScopes: asked
            )
            try checkPerson(grant)
        } catch let error as AuthenticationError {
            await revoke(response)
            throw error
        }
        guard let stored = try await store(grant) else {
            await revoke(response)
            throw AuthenticationError.removed(context)
        }
        guard let token = grant.accessToken(at: environment.clock.unixSeconds) else {
            throw AuthenticationError(.malformedResponse, "The provider issued no access token.")
        }
        await remember(stored.account)
        let rule = authority.scopeRule
        let acquired = AcquiredToken(
            snapshot: stored,
            token: token,
            source: .identityProvider,
            correlationID: context.correlationID
        )
        let result = AuthenticationResult(acquired, requested: scopes, rule: rule)
        let wanted = rule.matchable(scopes.map(\.rawValue))
        guard wanted.isEmpty || !wanted.isDisjoint(with: token.granted) else {
            throw AuthenticationError(
                .scopesDeclined,
                "The person is signed in, but none of the requested scopes was granted.",
                correlationID: context.correlationID
            )
        }
        return result
    }

    /// Takes the refresh token of an answer back that is not believed, or is about another person.
    ///
    /// Not where that person is signed in here: some providers would end that sign-in, too.
    private func revoke(_ response: TokenResponse) async {
        // It is not believed, but for whom to spare.
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
            } catch { return }  // nobody knows
        }
        await Revocation(environment: environment, context: context).revokeUnwanted(
            response.refreshToken,
            authority,
            metadata
        )
    }

    private func checkPerson(_ grant: TokenGrant) throws {
        guard let wanted, authority.issuesIDTokens, wanted.id != grant.identity.accountID else { return }
        throw AuthenticationError(
            .accountMismatch,
            "Another account signed in than the one that was asked for; nothing was stored. Sign in again with the right one.",
            correlationID: context.correlationID
        )
    }

    private func store(_ grant: TokenGrant) async throws -> CredentialSnapshot? {
        var identity = grant.identity
        if !authority.issuesIDTokens, let wanted {
            identity.accountID = wanted.id
            identity.homeAccountID = wanted.homeAccountID
        }
        let now = environment.clock.unixSeconds
        let id = RecordID(authority: authority, account: identity.accountID)
        let fresh = AccountCredentials(
            incarnation: SecureRandom.token(bytes: 16),
            partition: id.partition,
            environment: authority.environment,
            clientID: environment.clientID,
            accountID: identity.accountID,
            homeAccountID: identity.homeAccountID
        )
        return try await environment.store.commit(
            id,
            fallback: fresh.applying(grant, at: now, isSignIn: true),
            isSignIn: true
        ) { current in
            var credentials = current ?? fresh
            credentials.incarnation = fresh.incarnation
            return credentials.applying(grant, at: now, isSignIn: true)
        }
    }

    /// Makes the account the current one. A cache that cannot be written fails no sign-in.
    private func remember(_ account: Account) async {
        do {
            try await environment.accountsInUse.update { $0.signIn(account) }
        } catch {
            let reason = (error as? AuthenticationError)?.shortDescription ?? "\(type(of: error))"
            context.logger.info(
                "Who has signed in could not be remembered as the current account",
                metadata: ["identity.error": "\(reason)"]
            )
        }
    }
}
