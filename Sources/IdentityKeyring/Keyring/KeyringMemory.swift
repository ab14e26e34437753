// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The records that were read from the keyring or written to it, kept while they are known to be current.
final class KeyringMemory: Sendable {
    /// The state of memory and of a record's counter before a read. If it is another one after the read, the record is not
    /// remembered.
    struct ReadStart {
        fileprivate let epoch: UInt64
        fileprivate let counter: ChangeCounter
        /// The counter's number, or `nil` while a change is under way.
        fileprivate let count: Int?
    }

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
        var entries: [CacheKey: Entry] = [:]
        var listings: [ListingName: Listing] = [:]
        /// The path of each item that is known to be the only one of its key.
        var paths: [CacheKey: String] = [:]
        /// The bytes that were remembered since everything was forgotten.
        var bytes = 0
        /// The number of signals so far.
        var epoch: UInt64 = 0
        /// The keys of all known items by path, also of items that are not remembered.
        var keys: [String: CacheKey] = [:]

        mutating func forgetAll() {
            (entries, listings, paths, bytes) = ([:], [:], [:], 0)
        }

        mutating func insert(_ record: CacheRecord, for key: CacheKey, _ counter: ChangeCounter, _ count: Int) {
            entries[key] = Entry(record: record, counter: counter, count: count)
            bytes += record.bytes.count
        }

        mutating func makeRoom(for size: Int) {
            if bytes + size > KeyringMemory.maximumBytes { forgetAll() }
            if paths.count >= KeyringMemory.maximumItems { paths = [:] }
        }

        mutating func note(_ key: CacheKey, at path: String) {
            if keys.count >= KeyringMemory.maximumItems { keys = [:] }
            keys[path] = key
        }
    }

    private static let maximumBytes = 8 << 20
    private static let maximumItems = 4096
    private static let maximumListings = 16
    private let state = Mutex(State())

    /// Returns the record under `key`, unless a process has changed it, or begun to, since it was read. Costs one `fstat`
    /// and no other call.
    func record(for key: CacheKey) -> CacheRecord? {
        guard let entry = state.withLock({ $0.entries[key] }), entry.counter.value == entry.count else { return nil }
        return entry.record
    }

    /// Returns all records of a kind, unless a record of the group has changed since they were read.
    func records(of kind: CacheKey.Kind, in group: CacheGroup) -> [CacheKey: CacheRecord]? {
        let name = ListingName(kind: kind, group: group)
        guard let listing = state.withLock({ $0.listings[name] }), listing.counts.areCurrent else { return nil }
        return listing.records
    }

    /// Returns the path of the only item of `key`, if it is known.
    func path(of key: CacheKey) -> String? { state.withLock { $0.paths[key] } }

    /// The number of signals so far, for the reader of a listing.
    var epoch: UInt64 { state.withLock { $0.epoch } }

    /// Begins a read of one record.
    func beginRead(_ counter: ChangeCounter) -> ReadStart {
        ReadStart(epoch: epoch, counter: counter, count: counter.value)
    }

    /// Remembers a record that was read at `path`, unless a signal came during the read. If a change was under way, only
    /// the path is remembered.
    ///
    /// - Parameter isOnly: Whether `key` has no other item.
    /// - Returns: An equal record, in the array that was given out before if there is one.
    func remember(
        _ record: CacheRecord,
        for key: CacheKey,
        at path: String,
        isOnly: Bool,
        since start: ReadStart
    ) -> CacheRecord {
        state.withLock { state in
            let known = state.entries[key].flatMap { $0.record == record ? $0.record : nil } ?? record
            state.note(key, at: path)
            guard state.epoch == start.epoch else { return known }
            state.makeRoom(for: known.bytes.count)
            state.entries[key] = nil
            if isOnly { state.paths[key] = path }
            // The user of encrypted files keeps their key itself, in memory that is wiped.
            if let count = start.count, key.kind != .encryptionKey {
                state.insert(known, for: key, start.counter, count)
            }
            return known
        }
    }

    /// Remembers a listing and each of its records, unless a signal came since `epoch` was read, or it is too large.
    func remember(
        _ found: [CacheKey: (record: CacheRecord, path: String?)],
        of kind: CacheKey.Kind,
        in group: CacheGroup,
        counts: ChangeCounts,
        since epoch: UInt64
    ) {
        let records = found.mapValues(\.record)
        let size = records.values.reduce(0) { $0 + $1.bytes.count }
        state.withLock { state in
            guard state.epoch == epoch, size <= Self.maximumBytes else { return }
            state.makeRoom(for: size)
            for (key, item) in found {
                // An item with a malformed name has no counter, and no reader can ask for it.
                guard let path = item.path, let (counter, count) = try? counts.count(for: key) else { continue }
                state.entries[key] = nil
                state.paths[key] = path
                if let count { state.insert(item.record, for: key, counter, count) }
            }
            if state.listings.count >= Self.maximumListings { state.listings = [:] }
            state.listings[ListingName(kind: kind, group: group)] = Listing(records: records, counts: counts)
        }
    }

    /// Forgets the record under `key`, because it is about to change or does not exist.
    func forget(_ key: CacheKey) {
        state.withLock { $0.entries[key] = nil }
    }

    /// Forgets the path of the item of `key`, so that the next reader searches for it.
    func forgetPath(of key: CacheKey) {
        state.withLock { $0.paths[key] = nil }
    }

    /// Forgets everything that may have changed, after a signal.
    func invalidate() {
        state.withLock { state in
            state.epoch &+= 1
            state.forgetAll()
        }
    }

    /// Returns the key of the item at `path`, if it is known.
    func key(at path: String) -> CacheKey? {
        state.withLock { $0.keys[path] }
    }

    /// Returns the keys in `group` whose items are known.
    func knownKeys(in group: CacheGroup) -> Set<CacheKey> {
        state.withLock { Set($0.keys.values.filter { $0.group == group }) }
    }

    /// Notes the key of the item at `path`, so that a listener learns of the item's removal.
    func note(_ key: CacheKey, at path: String) {
        state.withLock { $0.note(key, at: path) }
    }
}
