// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What becomes of the record. The refresh token decides: one that was stored meanwhile stays.
extension RefreshAttempt {
    func commit(_ grant: TokenGrant, _ metadata: AuthorityMetadata) async throws -> AcquiredToken {
        let (now, base, sent) = (environment.clock.unixSeconds, snapshot.credentials, sent)
        let stored = try await environment.store.commit(
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
            if let newer = try await environment.settled(request) { return newer }
            throw AuthenticationError.removed(context)
        }
        guard let token = grant.accessToken(at: now) else { throw AuthenticationError.removed(context) }
        return AcquiredToken(
            snapshot: committed,
            token: token,
            source: .identityProvider,
            correlationID: context.correlationID
        )
    }

    /// Stores the new refresh token of an answer of which nothing else is believed.
    func keep(_ secret: String) async throws {
        let (now, base, sent) = (environment.clock.unixSeconds, snapshot.credentials, sent)
        _ = try await environment.store.commit(
            request.id,
            fallback: base.replacing(sent, with: secret, at: now)
        ) { current in
            guard let current, current.continues(base, from: sent) else { return current }
            return current.replacing(sent, with: secret, at: now)
        }
    }

    /// Removes a refresh token that the server declared dead, if it is still the one that is stored.
    func drop(after error: AuthenticationError) async throws {
        guard let suberror = error.serverError?.suberror, ["bad_token", "user_account_deleted"].contains(suberror)
        else { return }
        let sent = sent
        _ = try await environment.store.update(request.id) { current in
            guard var current, current.refreshToken?.secret == sent.secret else { return current }
            current.refreshToken = nil
            return current
        }
    }
}
