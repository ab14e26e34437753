// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension CredentialStore {
    func decode(_ record: CacheRecord, key: CacheKey) async throws -> CredentialSnapshot {
        do {
            let credentials = try AccountCredentials(decoding: record.bytes, rule: Authority.scopeRule(forPartition:))
            return CredentialSnapshot(key: key, record: record, credentials: credentials)
        } catch {
            if SealedRecord.isSealed(record.bytes) { throw Self.encrypted(error) }
            if AccountCredentials.isNewer(record.bytes) { throw AccountCredentials.newerVersion }
            var place = ""
            if let cache = cache as? any CorruptRecordKeeping, cache.keepsCorruptRecords {
                if let path = try await wrapping({ try await cache.setAside(key, record: record) }) {
                    place = " It was set aside as \(path)."
                }
            }
            throw AuthenticationError(
                .cacheCorrupt,
                "A record of the token cache is damaged (\(error)).\(place) Sign in again; other accounts are not affected.",
                underlyingError: error
            )
        }
    }

    /// An encrypted record is not damaged and is not set aside: another program, or this program
    /// earlier, has a key for it.
    static func encrypted(_ cause: (any Error)?) -> AuthenticationError {
        AuthenticationError(
            .cacheUndecryptable,
            "A record of the token cache is encrypted, and this program opens the cache without a key. It was left as it "
                + "is: open the cache with its key, or use another place for the tokens.",
            underlyingError: cause
        )
    }

    func decodeForUpdate(
        _ record: CacheRecord?,
        key: CacheKey,
        replacesDamaged: Bool
    ) async throws -> AccountCredentials? {
        guard let record else { return nil }
        do {
            return try await decode(record, key: key).credentials
        } catch let error as AuthenticationError where error.code == .cacheCorrupt && replacesDamaged {
            return nil
        }
    }

    /// Runs a call of the cache and turns each error into a cache error. It is inlined, because two more calls would
    /// slow down a hit.
    @inline(__always)
    func wrapping<Value: Sendable>(_ call: () async throws -> Value) async throws -> Value {
        do {
            return try await call()
        } catch {
            if error.isOfACancelledTask { throw error }
            throw cacheError(error)
        }
    }

    func cacheError(_ error: any Error) -> AuthenticationError {
        if let error = error as? AuthenticationError, .cache ~= error.code { return error }
        return AuthenticationError(.cache, "The token cache failed: \(type(of: error)).", underlyingError: error)
    }
}

extension AccountCredentials {
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
}
