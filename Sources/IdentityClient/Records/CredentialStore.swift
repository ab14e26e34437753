// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Synchronization
import SystemSupport

/// Reads and writes credentials through a ``TokenCache``, and decodes a record only when its bytes changed.
package final class CredentialStore: Sendable {
    package let cache: any TokenCache
    package let group: CacheGroup
    let clientID: String
    let state = Mutex(State())

    /// The limit of attempts to write. Each refused attempt means that another process succeeded, so that real programs
    /// stay far below it.
    static let maximumAttempts = 1000
    /// The time for which a stuck write is left alone if memory has an answer.
    let pause: Duration

    struct State {
        var entries: [RecordID: Entry] = [:]
        /// The entry of the latest request, because a comparison is quicker than a hash.
        var latest: Entry?
        var bytes = 0
        var tick: UInt64 = 0
        var unsaved: [RecordID: Unsaved] = [:]
        /// The writes under way without which the refresh token in the cache is spent.
        var rotations = 0
        var signOuts: [CacheKey: SignOuts] = [:]
        var listing = Listing()
        var reported: [CacheKey: CacheRecord] = [:]
    }

    /// Guarded by the lock. It is an object, so that a hit finds it with one lookup.
    final class Entry {
        /// That of the location, which a hit compares without a reference to count.
        let id: RecordID
        let location: Location
        var snapshot: CredentialSnapshot?
        var lastUse: UInt64 = 0

        init(_ location: Location) {
            id = location.id
            self.location = location
        }
    }

    /// The location of one account's record. It is an object, so that a hit copies no strings out of the lock.
    final class Location: Sendable {
        let id: RecordID
        let key: CacheKey

        init(id: RecordID, key: CacheKey) {
            self.id = id
            self.key = key
        }
    }

    package init(cache: any TokenCache, group: CacheGroup, clientID: String, pause: Duration = .seconds(5)) {
        self.cache = cache
        self.group = group
        self.clientID = clientID
        self.pause = pause
    }

    /// Returns the credentials under `id`, at the cost of one lookup. Failed writes are repeated first.
    package func snapshot(for id: RecordID) async throws -> CredentialSnapshot? {
        let (location, known, isUnsaved) = state.withLock { state in
            let entry = entry(for: id, in: &state)
            state.tick &+= 1
            entry.lastUse = state.tick
            return (entry.location, entry.snapshot, !state.unsaved.isEmpty && state.unsaved.keys.contains(id))
        }
        if isUnsaved { return try await retry(id) }
        guard let record = try await wrapping({ try await cache.record(for: location.key) }) else {
            forget(id)
            return nil
        }
        if let known, known.record == record { return known }
        return try await decoded(record, id: id, key: location.key)
    }

    @inline(never)  // a hit sets up nothing for it
    private func decoded(_ record: CacheRecord, id: RecordID, key: CacheKey) async throws -> CredentialSnapshot {
        let listed = state.withLock { $0.listing.snapshots[key] }
        let snapshot = if let listed, listed.record == record { listed } else { try await decode(record, key: key) }
        remember(snapshot, for: id)
        return snapshot
    }

    package func key(for id: RecordID) -> CacheKey {
        id.key(in: group, clientID: clientID)
    }

    /// Reads, changes and writes until no other process wrote in between.
    ///
    /// - Returns: The stored credentials, or `nil` if `change` removed them or there are none.
    ///
    /// - Parameters:
    ///   - replacesDamaged: Whether a damaged record is overwritten, as it is by a new sign-in.
    ///   - wasJustRead: Whether the first attempt takes the record in memory for the stored one, which saves a lookup.
    /// - Throws: `.cacheNewerVersion` if a newer version of the library wrote the record, and `change` neither removes it
    ///   nor replaces a refresh token that was redeemed.
    package func update(
        _ id: RecordID,
        replacesDamaged: Bool = false,
        wasJustRead: Bool = false,
        _ change: (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> CredentialSnapshot? {
        let key = key(for: id)
        for attempt in 0..<Self.maximumAttempts {
            let known = state.withLock { $0.entries[id]?.snapshot }
            // If the cache has another record by now, it refuses the replacement.
            let isGuess = wasJustRead && attempt == 0 && known?.record != nil
            let record = isGuess ? known?.record : try await wrapping { try await cache.record(for: key) }
            let current =
                if let record, let known, known.record == record {
                    known.credentials
                } else {
                    try await decodeForUpdate(record, key: key, replacesDamaged: replacesDamaged)
                }
            let next = try change(current)
            if next == current {
                if isGuess { continue }
                return next.map { CredentialSnapshot(key: key, record: record, credentials: $0) }
            }
            let new = try next?.replacing(current, in: record)
            guard try await wrapping({ try await cache.replace(record, with: new?.record, for: key) }) else {
                await Task.yield()
                continue
            }
            let snapshot = new.map { CredentialSnapshot(key: key, record: $0.record, credentials: $0.credentials) }
            if let snapshot { remember(snapshot, for: id) } else { forget(id) }
            return snapshot
        }
        throw Self.busy
    }

    static var busy: AuthenticationError {
        AuthenticationError(.cacheBusy, "The token cache accepts no change. Try again.")
    }
}

// The decoded records in memory. The least recently used ones are dropped first.
extension CredentialStore {
    /// The limit for the bytes of decoded records in memory.
    private static let memoryLimit = 4 * 1024 * 1024

    func entry(for id: RecordID, in state: inout State) -> Entry {
        if let latest = state.latest, latest.id == id { return latest }
        let entry: Entry
        if let known = state.entries[id] {
            entry = known
        } else {
            entry = Entry(Location(id: id, key: id.key(in: group, clientID: clientID)))
            state.entries[id] = entry
        }
        state.latest = entry
        return entry
    }

    func remember(_ snapshot: CredentialSnapshot, for id: RecordID) {
        state.withLock { state in
            let entry = entry(for: id, in: &state)
            state.bytes += snapshot.size - (entry.snapshot?.size ?? 0)
            entry.snapshot = snapshot
            entry.lastUse = state.tick
            if state.bytes > Self.memoryLimit { Self.evict(&state) }
        }
    }

    func forget(_ id: RecordID) {
        state.withLock { state in
            state.latest = nil
            state.bytes -= state.entries.removeValue(forKey: id)?.snapshot?.size ?? 0
        }
    }

    func forget(_ key: CacheKey) {
        let ids = state.withLock { $0.entries.filter { $0.value.location.key == key }.map(\.key) }
        for id in ids { forget(id) }
    }

    /// Drops the least recently used half, so that the sorting is paid for rarely.
    private static func evict(_ state: inout State) {
        state.latest = nil
        for (id, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard state.bytes > memoryLimit / 2 else { break }
            state.bytes -= entry.snapshot?.size ?? 0
            state.entries[id] = nil
        }
    }
}

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
