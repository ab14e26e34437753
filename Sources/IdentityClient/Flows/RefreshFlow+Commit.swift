// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension RefreshFlow {
    func commit(
        _ grant: TokenGrant,
        replacing sent: CachedRefreshToken,
        of snapshot: CredentialSnapshot,
        for request: SilentRequest,
        _ metadata: AuthorityMetadata
    ) async throws -> AcquiredToken {
        let now = environment.clock.unixSeconds
        let base = snapshot.credentials
        let (stored, persistence) = try await environment.store.commit(
            request.id,
            fallback: base.applying(grant, at: now)
        ) { current in
            guard let current, current.continues(base, from: sent) else { return current }
            return current.applying(grant, replacing: sent, at: now)
        }
        let kept = grant.response.refreshToken.map { CachedRefreshToken(secret: $0, modifiedAt: now) } ?? sent
        guard let committed = stored, committed.credentials.continues(base, from: kept) else {
            // Not where somebody has signed in anew: some providers would end that sign-in, too.
            if stored == nil {
                await Revocation(environment: environment, context: context).revokeUnwanted(
                    grant,
                    request.authority,
                    metadata
                )
            }
            if let newer = try await settled(request) { return newer }
            throw Self.removed(context)
        }
        guard let token = grant.accessToken(at: now) else { throw Self.removed(context) }
        return AcquiredToken(
            snapshot: committed,
            token: token,
            source: .identityProvider,
            persistence: persistence,
            correlationID: context.correlationID
        )
    }

    /// Removes a refresh token that the server declared dead, if it is still the one that is stored.
    func drop(_ token: CachedRefreshToken, after error: AuthenticationError, _ id: RecordID) async throws {
        guard let suberror = error.serverError?.suberror, ["bad_token", "user_account_deleted"].contains(suberror)
        else {
            return
        }
        _ = try await environment.store.update(id) { current in
            guard var current, current.refreshToken?.secret == token.secret else { return current }
            current.refreshToken = nil
            return current
        }
    }

    /// The account is there, and its refresh token no more: another process was told that it is dead.
    static func withoutToken(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "The provider takes this account's refresh token no longer: sign in interactively.",
            correlationID: context.correlationID
        )
    }

    static func removed(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .accountRemoved,
            "The account was signed out: sign in interactively.",
            correlationID: context.correlationID
        )
    }
}
