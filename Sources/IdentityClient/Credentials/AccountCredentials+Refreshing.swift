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

    /// Returns the record that replaces `record`, which holds `current`, and its credentials.
    ///
    /// A record of a newer version stays as it is but for a refresh token that was redeemed, where the sign-in is still the
    /// same: the provider has spent it, and without its successor all programs would be signed out.
    ///
    /// - Throws: `.cacheNewerVersion` for another change of a newer version's record.
    func replacing(
        _ current: AccountCredentials?,
        in record: CacheRecord?
    ) throws -> (credentials: AccountCredentials, record: CacheRecord) {
        guard var kept = current, let record, kept.version > Self.currentVersion else {
            return (self, CacheRecord(bytes: encoded()))
        }
        guard kept.signInID == signInID, let spent = kept.refreshToken?.secret, let secret = refreshToken?.secret,
            secret != spent, let bytes = Self.replacing(spent, with: secret, in: record.bytes)
        else { throw Self.newerVersion }
        kept.refreshToken?.secret = secret
        return (kept, CacheRecord(bytes: bytes))
    }

    static var newerVersion: AuthenticationError {
        AuthenticationError(
            .cacheNewerVersion,
            "A record was written by a newer version of the library, and was left as it is: update this program."
        )
    }
}
