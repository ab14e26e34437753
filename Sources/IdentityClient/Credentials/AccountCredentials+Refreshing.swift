// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension AccountCredentials {
    /// Returns the credentials with the grant merged in, but without its refresh token if the stored refresh token is
    /// no longer `sent`.
    func applying(_ grant: TokenGrant, replacing sent: CachedRefreshToken, at now: Int64) -> AccountCredentials {
        guard refreshToken?.secret == sent.secret else {
            var grant = grant
            grant.response.refreshToken = nil
            return applying(grant, at: now)
        }
        var result = applying(grant, at: now)
        // The provider has accepted the token, so its earlier refusals no longer apply.
        result.refreshToken?.refusals = []
        return result
    }

    /// Returns whether a refresh of `earlier` with `token` still concerns these credentials: they are of the same
    /// sign-in, or of a newer sign-in that brought no refresh token of its own and relies on `token`.
    func continues(_ earlier: AccountCredentials, from token: CachedRefreshToken) -> Bool {
        incarnation == earlier.incarnation || refreshToken?.secret == token.secret
    }

    /// Returns the credentials with a new refresh token, if the stored refresh token is still `sent`.
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
