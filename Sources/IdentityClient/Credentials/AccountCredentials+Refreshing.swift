// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AccountCredentials {
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
