// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension AccountCredentials {
    /// With the grant merged in, but for its refresh token where the stored one is no longer the one that was sent.
    func applying(_ grant: TokenGrant, replacing sent: CachedRefreshToken, at now: Int64) -> AccountCredentials {
        guard refreshToken?.secret == sent.secret else {
            var grant = grant
            grant.response.refreshToken = nil
            return applying(grant, at: now)
        }
        var result = applying(grant, at: now)
        // The provider has taken it: what it said of it before is over.
        result.refreshToken?.refusals = []
        return result
    }

    /// Whether a refresh of `earlier` with `token` still concerns these credentials: they are of the same sign-in, or a
    /// newer one brought no refresh token of its own and relies on that one.
    func continues(_ earlier: AccountCredentials, from token: CachedRefreshToken) -> Bool {
        incarnation == earlier.incarnation || refreshToken?.secret == token.secret
    }

    /// With a new refresh token where the stored one is still the one that was sent.
    func replacing(_ sent: CachedRefreshToken, with secret: String, at now: Int64) -> AccountCredentials {
        guard refreshToken?.secret == sent.secret else { return self }
        var result = self
        result.refreshToken?.secret = secret
        result.refreshToken?.modifiedAt = now
        result.refreshToken?.refusals = []
        return result
    }

    func checkMayBeRewritten() throws {
        guard version <= Self.currentVersion else { throw Self.newerVersion }
    }

    static var newerVersion: AuthenticationError {
        AuthenticationError(
            .cacheNewerVersion,
            "A record was written by a newer version of the library, and was left as it is: update this program."
        )
    }
}
