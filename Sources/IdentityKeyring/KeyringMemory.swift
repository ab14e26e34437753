// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// What was read from the keyring or written to it, for as long as it is known to be still so.
final class KeyringMemory: Sendable {
    private struct Entry {
        let record: CacheRecord
        let path: String
        let counter: ChangeCounter
        let count: UInt64
    }

    private struct State {
        var entries: [CacheKey: Entry] = [:]
        /// The keys of items, also of those that are not remembered.
        var keys: [String: CacheKey] = [:]
        var bytes = 0
        /// Grows with every signal: what was read while it grew is not remembered.
        var epoch: UInt64 = 0

        mutating func forget(_ key: CacheKey) {
            if let entry = entries.removeValue(forKey: key) { bytes -= entry.record.bytes.count }
        }

        mutating func forgetAll() {
            entries = [:]
            bytes = 0
        }
    }

    /// How many bytes of records are kept.
    private static let limit = 8 << 20
    private let state = Mutex(State())

    /// The record under `key`, if nobody has changed it since it was read. No call but one `pread`.
    func record(for key: CacheKey) -> CacheRecord? {
        guard let entry = state.withLock({ $0.entries[key] }), entry.counter.value == entry.count else { return nil }
        return entry.record
    }

    /// To be taken before something is read that is to be remembered.
    var epoch: UInt64 { state.withLock { $0.epoch } }

    /// Remembers what was read at `path`, unless a signal came since `epoch` was taken.
    /// - Returns: An equal record, in the array that was given out before if there is one.
    func remember(
        _ record: CacheRecord,
        for key: CacheKey,
        at path: String,
        counter: ChangeCounter,
        count: UInt64,
        since epoch: UInt64
    ) -> CacheRecord {
        state.withLock { state in
            let known = state.entries[key].flatMap { $0.record == record ? $0.record : nil } ?? record
            if state.keys.count >= 4096 { state.keys = [:] }
            state.keys[path] = key
            guard state.epoch == epoch else { return known }
            state.forget(key)
            if state.bytes + known.bytes.count > Self.limit { state.forgetAll() }
            state.entries[key] = Entry(record: known, path: path, counter: counter, count: count)
            state.bytes += known.bytes.count
            return known
        }
    }

    /// There is no record under `key`.
    func forget(_ key: CacheKey) {
        state.withLock { $0.forget(key) }
    }

    /// Notes that the item at `path` may have changed.
    /// - Returns: Its key, if it is known.
    func invalidate(_ path: String) -> CacheKey? {
        state.withLock { state in
            state.epoch &+= 1
            guard let key = state.keys[path] else { return nil }
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

    /// Notes whose item lies at `path`, so that its removal can be told.
    func note(_ key: CacheKey, at path: String) {
        state.withLock { $0.keys[path] = key }
    }
}
