// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization

/// The key of one client that its bound access tokens belong to: a record of its own in the cache, which all programs of
/// the client share.
///
/// The first process that needs the key makes it; if two do at the same time, the cache decides which one stays. A key
/// whose record is gone or damaged is replaced by a new one, and the tokens bound to it are not used any more.
final class PossessionKeys: Sendable {
    private let store: CredentialStore
    let name: CacheKey
    private let known = Mutex<Known?>(nil)
    private let flight = SingleFlight<CacheKey, PossessionKey>()
    /// Making a key takes a tenth of a second of computing.
    private static let executor = QueueExecutor("identity-client.keys")

    private struct Known {
        let record: CacheRecord
        let key: PossessionKey
    }

    init(store: CredentialStore) {
        self.store = store
        name = CacheKey(
            group: store.group,
            kind: .application,
            name: Digest.hexadecimal(of: ["possession_key", store.clientID])
        )
    }

    /// Returns the key, at the cost of one lookup. Makes it if there is none.
    ///
    /// - Throws: `.cache` or one of its second levels if the key cannot be read or stored.
    func key() async throws -> PossessionKey {
        if let record = try await store.applicationRecord(name), let key = try key(in: record) { return key }
        return try await flight.run(name) { [self] in try await made() }
    }

    private func made() async throws -> PossessionKey {
        var fresh: PossessionKey?
        for _ in 0..<CredentialStore.maximumAttempts {
            let record = try await store.applicationRecord(name)
            if let record, let key = try key(in: record) { return key }
            let key = if let fresh { fresh } else { try await Self.executor.run { try PossessionKey() } }
            fresh = key
            let written = Self.encoded(key)
            if try await store.replaceApplicationRecord(name, record, with: written) {
                known.withLock { $0 = Known(record: written, key: key) }
                return key
            }
            await Task.yield()
        }
        throw CredentialStore.busy
    }

    /// - Returns: `nil` for a damaged record.
    /// - Throws: An error for a record that is not damaged, but not readable here either.
    private func key(in record: CacheRecord) throws -> PossessionKey? {
        if let known = known.withLock({ $0 }), known.record == record { return known.key }
        if SealedRecord.isSealed(record.bytes) { throw CredentialStore.encrypted(nil) }
        guard let json = try? JSONObject(parsing: record.bytes) else { return nil }  // damaged
        if let version = json.integer("v"), version > 1 { throw AccountCredentials.newerVersion }
        guard let bytes = json.string("private_key").flatMap({ Base64URL.decode($0) }),
            let key = try? PossessionKey(pkcs8: bytes)  // damaged
        else { return nil }
        known.withLock { $0 = Known(record: record, key: key) }
        return key
    }

    private static func encoded(_ key: PossessionKey) -> CacheRecord {
        let json = JSONObject([
            ("v", .integer(1)), ("algorithm", .string(PossessionKey.algorithm.rawValue)), ("kid", .string(key.keyID)),
            ("private_key", .string(Base64URL.encode(key.pkcs8))),
        ])
        return CacheRecord(bytes: json.serialized())
    }
}
