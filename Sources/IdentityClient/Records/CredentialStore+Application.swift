// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Synchronization
import SystemSupport

// Records beside those of the accounts. None is kept in memory, because they are rarely read.
extension CredentialStore {
    /// A record of the kind `application`.
    func applicationRecord(_ key: CacheKey) async throws -> CacheRecord? {
        try await wrapping { try await cache.record(for: key) }
    }

    /// All records of the kind `application` in the group.
    func applicationRecords() async throws -> [CacheKey: CacheRecord] {
        try await wrapping { try await cache.records(of: .application, in: group) }
    }

    /// Compares and replaces.
    ///
    /// - Returns: Whether the record was `old`.
    func replaceApplicationRecord(_ key: CacheKey, _ old: CacheRecord?, with new: CacheRecord) async throws -> Bool {
        try await wrapping { try await cache.replace(old, with: new, for: key) }
    }

    /// Reads, changes and writes until no other process wrote in between.
    func updateApplicationRecord(_ key: CacheKey, _ change: (CacheRecord?) throws -> CacheRecord?) async throws {
        for _ in 0..<Self.maximumAttempts {
            let record = try await applicationRecord(key)
            let next = try change(record)
            if next == record { return }
            if try await wrapping({ try await cache.replace(record, with: next, for: key) }) { return }
            await Task.yield()
        }
        throw Self.busy
    }
}

/// The record of the accounts that a client works with.
struct AccountsInUseRecord: Sendable {
    let store: CredentialStore
    let key: CacheKey

    init(store: CredentialStore, scope: String) {
        self.store = store
        key = CacheKey(
            group: store.group,
            kind: .application,
            name: Digest.hexadecimal(of: ["accounts_in_use", scope, store.clientID])
        )
    }

    /// Reads the remembered accounts. A record that cannot be read counts as empty.
    func value() async throws -> AccountsInUse {
        Self.decoded(try await store.applicationRecord(key)) ?? AccountsInUse()
    }

    func update(_ change: (inout AccountsInUse) -> Void) async throws {
        try await store.updateApplicationRecord(key) { record in
            let known = Self.decoded(record)
            var value = known ?? AccountsInUse()
            // A record of a newer version stays as it is.
            guard value.version <= AccountsInUse.currentVersion else { return record }
            change(&value)
            return known == value ? record : CacheRecord(bytes: value.encoded())
        }
    }

    private static func decoded(_ record: CacheRecord?) -> AccountsInUse? {
        record.flatMap { try? AccountsInUse(decoding: $0.bytes) }  // damaged: it is written anew
    }
}

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
    /// - Throws: errors of the family `.cache` if the key cannot be read or stored.
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

/// A wait that a server asked for, and its beginning by the clock of the process that received the answer.
///
/// The wait is shared through the cache with all processes that would send the same request. It is a record of the kind
/// `lease`: small, not synced, and worthless after a crash. Only the server's own `Retry-After` is stored. A refresh
/// continues if the record cannot be read or written.
struct ServerWait: Hashable, Sendable {
    var notedAt: Int64
    var seconds: Int64

    /// The longest wait, in seconds.
    static let maximum: Int64 = 3600

    /// The whole seconds that are left; `nil` when the wait is over.
    ///
    /// A clock that was set back, or the fast clock of another process, does not make the wait longer than it was.
    func remaining(at now: Int64) -> Int64? {
        let left = notedAt + min(seconds, Self.maximum) - now
        return left > 0 && seconds > 0 && notedAt <= now ? left : nil
    }
}

extension ServerWait {
    /// Limits both members, so that no sum of them can overflow: any process that shares the cache can write them.
    init?(_ record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged one binds no process
            let notedAt = json.roundedDown("noted_at"), let seconds = json.roundedDown("seconds"),
            UnixSeconds.all.contains(notedAt)
        else { return nil }
        self.init(notedAt: notedAt, seconds: min(max(0, seconds), Self.maximum))
    }

    func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["noted_at"] = .integer(notedAt)
        json["seconds"] = .integer(seconds)
        return CacheRecord(bytes: json.serialized())
    }

    /// Reads the wait under `key`.
    ///
    /// - Throws: `.throttled` while the server accepts no such request.
    static func check(_ key: CacheKey, in cache: any TokenCache, at now: Int64, context: RequestContext) async throws {
        guard let record = try? await cache.record(for: key) else { return }
        let wait = ServerWait(record)
        guard let seconds = wait?.remaining(at: now) else {
            guard wait.map({ $0.notedAt > now }) != true else { return }  // one of the two clocks is wrong
            _ = try? await cache.replace(record, with: nil, for: key)  // the next process removes it
            return
        }
        throw context.error(
            .throttled,
            "The server asked another program to wait. Try again in \(seconds) s.",
            retryAfter: .seconds(seconds)
        )
    }

    /// Stores the wait that `error` asks for, and removes waits that are over.
    static func note(_ error: AuthenticationError, under key: CacheKey, in cache: any TokenCache, at now: Int64) async {
        guard .serverUnavailable ~= error.code, let wait = error.retryAfter, wait > .zero else { return }
        let record = ServerWait(notedAt: now, seconds: wait.components.seconds).encoded()
        // This process also remembers the wait without the cache.
        _ = try? await cache.replace(try? cache.record(for: key), with: record, for: key)
        // Without this, waits for requests that no process repeats would stay forever.
        guard let records = try? await cache.records(of: .lease, in: key.group) else { return }
        for (key, record) in records {
            guard let wait = ServerWait(record), wait.notedAt <= now, wait.remaining(at: now) == nil else { continue }
            _ = try? await cache.replace(record, with: nil, for: key)  // best effort: it binds no process
        }
    }
}
