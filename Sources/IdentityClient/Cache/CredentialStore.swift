// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization

/// One account's credentials as they were read: the bytes to compare with, and what they mean.
package final class CredentialSnapshot: Sendable {
    package let key: CacheKey
    /// `nil` while the credentials could not be written and live in memory only.
    package let record: CacheRecord?
    package let credentials: AccountCredentials
    package let account: Account

    init(key: CacheKey, record: CacheRecord?, credentials: AccountCredentials) {
        self.key = key
        self.record = record
        self.credentials = credentials
        account = credentials.account
    }

    /// What the credentials can do for a request; the way of a hit, which copies nothing.
    func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        credentials.selection(for: request, at: now)
    }

    /// How the tenant that issued a token knows the person, and its ID token.
    func profile(for token: CachedAccessToken) -> (TenantProfile?, idToken: String?) {
        guard let index = credentials.profiles.firstIndex(where: { $0.realm == token.realm }) else {
            return (account.tenantProfiles.first, nil)
        }
        return (account.tenantProfiles[index], credentials.profiles[index].idToken)
    }

    /// What counts against the memory that is kept.
    var size: Int { record?.bytes.count ?? 0 }
}

/// Reads and writes credentials through a ``TokenCache``, and decodes a record only when its bytes changed.
package final class CredentialStore: Sendable {
    package let cache: any TokenCache
    package let group: CacheGroup
    let clientID: String
    private let state = Mutex(State())

    /// The bytes of decoded records that are kept.
    private static let memoryLimit = 4 * 1024 * 1024
    /// How often a write is tried. Each refusal means that another one succeeded, so that nobody honest comes near it.
    private static let mostAttempts = 1000

    private struct State {
        var entries: [RecordID: Entry] = [:]
        var bytes = 0
        var tick: UInt64 = 0
        var unsaved: [RecordID: UnsavedCommit] = [:]
        var listing = Listing(records: [:], snapshots: [:])
        var reported: [CacheKey: CacheRecord] = [:]
    }

    /// Guarded by the lock; an object, so that a hit finds it with one lookup.
    private final class Entry {
        let key: CacheKey
        var snapshot: CredentialSnapshot?
        var lastUse: UInt64 = 0

        init(key: CacheKey) {
            self.key = key
        }
    }

    package init(cache: any TokenCache, group: CacheGroup, clientID: String) {
        self.cache = cache
        self.group = group
        self.clientID = clientID
    }

    /// The credentials under `id`, at the cost of one lookup.
    package func snapshot(for id: RecordID) async throws -> CredentialSnapshot? {
        let (key, known, unsaved) = state.withLock { state in
            let entry = entry(for: id, in: &state)
            state.tick &+= 1
            entry.lastUse = state.tick
            return (entry.key, entry.snapshot, state.unsaved.isEmpty ? nil : state.unsaved[id])
        }
        if let unsaved { return try await retry(unsaved, id: id, key: key) }
        guard let record = try await wrapping({ try await cache.record(for: key) }) else {
            forget(id)
            return nil
        }
        if let known, known.record == record { return known }
        let snapshot = try await decode(record, key: key)
        remember(snapshot, for: id)
        return snapshot
    }

    /// All credentials in the group, those of other clients too.
    ///
    /// A damaged record is set aside and reported once; the next call lists the others.
    package func allSnapshots() async throws -> Listing {
        let records = try await wrapping { try await cache.records(of: .account, in: group) }
        let (known, unsaved, reported) = state.withLock { ($0.listing, $0.unsaved.values.map(\.snapshot), $0.reported) }
        if unsaved.isEmpty, known.records == records { return known }
        var snapshots: [CacheKey: CredentialSnapshot] = [:]
        snapshots.reserveCapacity(records.count)
        for (key, record) in records {
            if let snapshot = known.snapshots[key], snapshot.record == record {
                snapshots[key] = snapshot
            } else if reported[key] != record {
                snapshots[key] = try await reporting(record, key: key)
            }
        }
        for snapshot in unsaved { snapshots[snapshot.key] = snapshot }
        let listing = Listing(records: records, snapshots: snapshots)
        if unsaved.isEmpty { state.withLock { $0.listing = listing } }
        return listing
    }

    /// Reads a record; a damaged one is remembered, so that it is reported once.
    private func reporting(_ record: CacheRecord, key: CacheKey) async throws -> CredentialSnapshot {
        do {
            return try await decode(record, key: key)
        } catch let error as AuthenticationError where error.code == .cacheCorrupt {
            state.withLock { $0.reported[key] = record }
            throw error
        }
    }

    /// The records of a group, and what they mean. The same object as before while no record changed.
    package final class Listing: Sendable {
        let records: [CacheKey: CacheRecord]
        package let snapshots: [CacheKey: CredentialSnapshot]
        /// What a program is shown, computed when it is first asked for.
        let accounts = Mutex<[String: [Account]]>([:])

        init(records: [CacheKey: CacheRecord], snapshots: [CacheKey: CredentialSnapshot]) {
            self.records = records
            self.snapshots = snapshots
        }
    }

    package func key(for id: RecordID) -> CacheKey {
        id.key(in: group, clientID: clientID)
    }

    /// Reads, changes and writes until no one else wrote in between.
    ///
    /// - Returns: The credentials as they now rest, or `nil` when `change` removed them or there are none.
    ///
    /// - Parameter replacesDamaged: Whether a record that cannot be read gives way: a new sign-in's does.
    package func update(
        _ id: RecordID,
        replacesDamaged: Bool = false,
        _ change: (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> CredentialSnapshot? {
        let key = key(for: id)
        for _ in 0..<Self.mostAttempts {
            let record = try await wrapping { try await cache.record(for: key) }
            let current = try await decodeForUpdate(record, key: key, replacesDamaged: replacesDamaged)
            let next = try change(current)
            if next == current { return next.map { CredentialSnapshot(key: key, record: record, credentials: $0) } }
            let written = next.map { CacheRecord(bytes: $0.encoded()) }
            guard try await wrapping({ try await cache.replace(record, with: written, for: key) }) else {
                await Task.yield()
                continue
            }
            let snapshot = next.map { CredentialSnapshot(key: key, record: written, credentials: $0) }
            if let snapshot { remember(snapshot, for: id) } else { forget(id) }
            return snapshot
        }
        throw Self.busy
    }

    /// Removes a record that was listed. `true` when this call removed it.
    package func remove(_ key: CacheKey) async throws -> Bool {
        forgetUnsaved(key)
        for _ in 0..<Self.mostAttempts {
            guard let record = try await wrapping({ try await cache.record(for: key) }) else { return false }
            if try await wrapping({ try await cache.replace(record, with: nil, for: key) }) {
                forget(key)
                return true
            }
        }
        throw Self.busy
    }

    private static var busy: AuthenticationError {
        AuthenticationError(.cacheBusy, "The token cache accepts no change. Try again.")
    }

    /// Like `update`, for what must not be lost: where the write fails, the result is kept in memory, and written with
    /// the next acquisition.
    package func commit(
        _ id: RecordID,
        fallback: AccountCredentials,
        replacesDamaged: Bool = false,
        _ change: @escaping @Sendable (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> (CredentialSnapshot?, AuthenticationResult.Persistence) {
        let earlier = state.withLock { $0.unsaved[id] }
        let change: @Sendable (AccountCredentials?) throws -> AccountCredentials? = { current in
            try change(try earlier.map { try $0.change(current) } ?? current)
        }
        do {
            let snapshot = try await update(id, replacesDamaged: replacesDamaged, change)
            saved(earlier, id)
            return (snapshot, .persisted)
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            let snapshot = CredentialSnapshot(key: key(for: id), record: nil, credentials: fallback)
            state.withLock { $0.unsaved[id] = UnsavedCommit(snapshot: snapshot, change: change) }
            return (snapshot, .failed(failure))
        }
    }

    /// Writes what could not be written before.
    package func saveUnsaved() async throws {
        let unsaved = state.withLock { $0.unsaved }
        for (id, commit) in unsaved {
            _ = try await update(id, commit.change)
            saved(commit, id)
        }
    }

    private func retry(_ unsaved: UnsavedCommit, id: RecordID, key: CacheKey) async throws -> CredentialSnapshot? {
        do {
            let snapshot = try await update(id, unsaved.change)
            saved(unsaved, id)
            return snapshot
        } catch AuthenticationError.cache {
            return unsaved.snapshot  // still not writable: what is in memory serves on
        }
    }

    /// Forgets a commit that is written, unless a newer one took its place meanwhile.
    private func saved(_ commit: UnsavedCommit?, _ id: RecordID) {
        guard let commit else { return }
        state.withLock { state in
            if state.unsaved[id]?.snapshot === commit.snapshot { state.unsaved[id] = nil }
        }
    }

    private func forgetUnsaved(_ key: CacheKey) {
        state.withLock { state in
            for (id, commit) in state.unsaved where commit.snapshot.key == key { state.unsaved[id] = nil }
        }
    }

    private func entry(for id: RecordID, in state: inout State) -> Entry {
        if let entry = state.entries[id] { return entry }
        let entry = Entry(key: id.key(in: group, clientID: clientID))
        state.entries[id] = entry
        return entry
    }

    private func remember(_ snapshot: CredentialSnapshot, for id: RecordID) {
        state.withLock { state in
            let entry = entry(for: id, in: &state)
            state.bytes += snapshot.size - (entry.snapshot?.size ?? 0)
            entry.snapshot = snapshot
            entry.lastUse = state.tick
            if state.bytes > Self.memoryLimit { Self.evict(&state) }
        }
    }

    private func forget(_ id: RecordID) {
        state.withLock { state in
            state.bytes -= state.entries.removeValue(forKey: id)?.snapshot?.size ?? 0
        }
    }

    private func forget(_ key: CacheKey) {
        let ids = state.withLock { $0.entries.filter { $0.value.key == key }.map(\.key) }
        for id in ids { forget(id) }
    }

    /// Drops the least recently used half, so that the sorting is paid for rarely.
    private static func evict(_ state: inout State) {
        for (id, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard state.bytes > memoryLimit / 2 else { break }
            state.bytes -= entry.snapshot?.size ?? 0
            state.entries[id] = nil
        }
    }
}

/// A commit whose write failed.
struct UnsavedCommit: Sendable {
    let snapshot: CredentialSnapshot
    let change: @Sendable (AccountCredentials?) throws -> AccountCredentials?
}
