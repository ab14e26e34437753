// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The records that were read from the keyring or written to it, kept while they are known to be current.
final class KeyringMemory: Sendable {
    private struct Entry {
        let record: CacheRecord
        let counter: ChangeCounter
        let count: Int
    }

    /// All records of one kind in a group.
    private struct Listing {
        let records: [CacheKey: CacheRecord]
        let counts: ChangeCounts
    }

    private struct ListingName: Hashable {
        let kind: CacheKey.Kind
        let group: CacheGroup
    }

    private struct State {
        var listings: [ListingName: Listing] = [:]
        var entries: [CacheKey: Entry] = [:]
        /// The keys of items, also of those that are not remembered.
        var keys: [String: CacheKey] = [:]
        /// Where an item lies that was found alone, for as long as none is known to have come, gone or moved since.
        var places: [CacheKey: String] = [:]
        var bytes = 0
        /// Grows with every signal: what was read while it grew is not remembered.
        var epoch: UInt64 = 0

        mutating func forget(_ key: CacheKey) {
            if let entry = entries.removeValue(forKey: key) { bytes -= entry.record.bytes.count }
        }

        mutating func forgetAll() {
            listings = [:]
            entries = [:]
            places = [:]
            bytes = 0
        }

        mutating func place(_ key: CacheKey, at path: String) {
            if places.count >= 4096 { places = [:] }
            places[key] = path
        }
    }

    /// How many bytes of records are kept.
    private static let limit = 8 << 20
    private let state = Mutex(State())

    /// The record under `key`, unless a process has changed it, or begun to, since it was read. Costs one `fstat` and
    /// no other call.
    func record(for key: CacheKey) -> CacheRecord? {
        guard let entry = state.withLock({ $0.entries[key] }), entry.counter.value == entry.count else { return nil }
        return entry.record
    }

    /// A counter that a caller reads before it reads a record and has it remembered.
    var epoch: UInt64 { state.withLock { $0.epoch } }

    /// Where the item of `key` lies, and no other of that key.
    func place(of key: CacheKey) -> String? { state.withLock { $0.places[key] } }

    /// The item of `key` has to be searched for.
    func forgetPlace(of key: CacheKey) {
        state.withLock { $0.places[key] = nil }
    }

    /// Remembers what was read at `path`, unless a signal came since `epoch` was taken.
    /// - Parameters:
    ///   - isAlone: Whether there is no other item of that key.
    ///   - count: The counter's value before it was read; `nil` while a change was under way, and then only the place is
    ///     remembered.
    /// - Returns: An equal record, in the array that was given out before if there is one.
    func remember(
        _ record: CacheRecord,
        for key: CacheKey,
        at path: String,
        isAlone: Bool,
        counter: ChangeCounter,
        count: Int?,
        since epoch: UInt64
    ) -> CacheRecord {
        state.withLock { state in
            let known = state.entries[key].flatMap { $0.record == record ? $0.record : nil } ?? record
            if state.keys.count >= 4096 { state.keys = [:] }
            state.keys[path] = key
            guard state.epoch == epoch else { return known }
            state.forget(key)
            if state.bytes + known.bytes.count > Self.limit { state.forgetAll() }
            if isAlone { state.place(key, at: path) }
            // Who asks for the key of encrypted files keeps it, where it is wiped.
            guard let count, key.kind != .encryptionKey else { return known }
            state.entries[key] = Entry(record: known, counter: counter, count: count)
            state.bytes += known.bytes.count
            return known
        }
    }

    /// All records of a kind, unless a record of the group has changed since they were read.
    func records(of kind: CacheKey.Kind, in group: CacheGroup) -> [CacheKey: CacheRecord]? {
        let name = ListingName(kind: kind, group: group)
        guard let listing = state.withLock({ $0.listings[name] }), listing.counts.areCurrent else { return nil }
        return listing.records
    }

    /// Remembers a listing and each record of it, unless a signal came since `epoch` was taken; one above the limit is not
    /// remembered.
    func remember(
        _ found: [CacheKey: (record: CacheRecord, path: String?)],
        of kind: CacheKey.Kind,
        in group: CacheGroup,
        counts: ChangeCounts,
        since epoch: UInt64
    ) {
        let records = found.mapValues(\.record)
        let size = records.values.reduce(0) { $0 + $1.bytes.count }
        guard size <= Self.limit else { return }
        state.withLock { state in
            guard state.epoch == epoch else { return }
            if state.bytes + size > Self.limit { state.forgetAll() }
            for (key, item) in found {
                state.forget(key)
                // One whose name is none for a record cannot be asked for.
                guard let path = item.path, let (counter, count) = try? counts.count(for: key) else { continue }
                state.place(key, at: path)
                guard let count else { continue }
                state.entries[key] = Entry(record: item.record, counter: counter, count: count)
                state.bytes += item.record.bytes.count
            }
            if state.listings.count >= 16 { state.listings = [:] }
            state.listings[ListingName(kind: kind, group: group)] = Listing(records: records, counts: counts)
        }
    }

    /// There is no record under `key`.
    func forget(_ key: CacheKey) {
        state.withLock { $0.forget(key) }
    }

    /// Notes that the item at `path` may have changed, or come.
    /// - Parameter isStored: Whether it was stored, anew or for the first time; otherwise it may not be found any more.
    /// - Returns: Its key, if it is known.
    func invalidate(_ path: String, isStored: Bool) -> CacheKey? {
        state.withLock { state in
            state.epoch &+= 1
            state.listings = [:]
            let key = state.keys[path]
            // One at another place may be a second one, or lie where one of ours was.
            if !isStored || key.flatMap({ state.places[$0] }) != path { state.places = [:] }
            guard let key else { return nil }
            state.forget(key)
            return key
        }
    }

    /// Notes that anything may have changed.
    func invalidateAll() {
        state.withLock { state in
            state.epoch &+= 1
            state.forgetAll()
        }
    }

    /// Whether it is known whose item lies at `path`.
    func knows(_ path: String) -> Bool {
        state.withLock { $0.keys[path] != nil }
    }

    /// The keys in `group` whose items are known.
    func knownKeys(in group: CacheGroup) -> Set<CacheKey> {
        state.withLock { Set($0.keys.values.filter { $0.group == group }) }
    }

    /// Notes whose item lies at `path`, so that its removal can be told.
    func note(_ key: CacheKey, at path: String) {
        state.withLock { $0.keys[path] = key }
    }
}
