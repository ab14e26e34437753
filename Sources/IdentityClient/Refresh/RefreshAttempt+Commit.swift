// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// What becomes of the record. The refresh token decides: one that was stored meanwhile stays.
extension RefreshAttempt {
    /// - Parameter stored: The refresh token that the answer is to replace: the one that was sent, or already the new one.
    /// - Returns: `nil` where another sign-in took this one's place. Its tokens stay, and those of the answer are dropped.
    func commit(
        _ grant: TokenGrant,
        _ metadata: AuthorityMetadata,
        replacing stored: CachedRefreshToken
    ) async throws -> AcquiredToken? {
        let (now, base) = (environment.clock.unixSeconds, snapshot.credentials)
        let record = try await environment.store.commit(
            request.id,
            fallback: base.applying(grant, at: now),
            RefreshChange(.grant(grant), to: stored, of: base, at: now)
        )
        let kept = grant.response.refreshToken.map { CachedRefreshToken(secret: $0, modifiedAt: now) } ?? stored
        guard let committed = record else {
            // Not where somebody has signed in anew: some providers would end that sign-in, too.
            await Revocation(environment: environment, context: context).revokeUnwanted(
                grant.response.refreshToken,
                request.authority,
                metadata
            )
            if let newer = try await environment.settled(request) { return newer }
            throw AuthenticationError.removed(context)
        }
        guard committed.credentials.continues(base, from: kept) else { return nil }
        guard let token = grant.accessToken(at: now) else { throw AuthenticationError.removed(context) }
        return AcquiredToken(
            snapshot: committed,
            token: token,
            source: .identityProvider,
            correlationID: context.correlationID
        )
    }

    /// Remembers with the record that the server refused the refresh token, or removes one that it declared dead; if it is
    /// still the one that is stored.
    ///
    /// The refusal is what the caller has to know: a cache that fails here hides it not.
    func remember(_ error: AuthenticationError) async {
        guard let server = error.serverError else { return }
        let isDead = ["bad_token", "user_account_deleted"].contains(server.suberror)
        guard isDead || error.code == .signInExpired else { return }
        let (sent, refused, now) = (sent, request.refusalKey, environment.clock.unixSeconds)
        let end = snapshot.credentials.survivor(for: request.need, at: now)?.expiresOn
        do {
            _ = try await environment.store.update(request.id) { current in
                guard var current, let token = current.refreshToken, token.secret == sent.secret else {
                    return current
                }
                current.refreshToken = isDead ? nil : token.refused(refused, at: now, until: end)
                return current
            }
        } catch {
            context.logger.debug("That a refresh token was refused could not be remembered in the cache")
        }
    }
}
