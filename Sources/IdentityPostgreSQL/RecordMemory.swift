// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The records that were read or written, kept while the database would tell of a change.
///
/// A record is current if the group's channel was heard before the record was read and ever since, if the database has
/// answered on that connection a moment ago, if the record has not changed for a second, and if no lease of its name is
/// known: whoever refreshes, or follows a record that others change, reads the database itself.
final class RecordMemory: Sendable {
    /// A read or a write under way.
    struct Access {
        fileprivate let number: UInt64
    }

    /// A record with the identifier of the write that stored it.
    struct Stored: Sendable {
        let record: CacheRecord
        let write: [UInt8]
    }

    private struct Entry {
        let stored: Stored
        /// When the record was read first, and last.
        let seenAt, readAt: ContinuousClock.Instant
        /// The connection that would tell of a change; 0 for none.
        let session: UInt64
    }

    private struct Pending {
        let key: CacheKey
        let session: UInt64
        /// The last write of the record that was told of meanwhile.
        var told: [UInt8]?
    }

    private struct State {
        var entries: [CacheKey: Entry] = [:]
        var bytes = 0
        var pending: [UInt64: Pending] = [:]
        var lastNumber: UInt64 = 0
        /// The number of the connection over which changes are told, and its groups.
        var session: UInt64 = 1
        var heard: Set<CacheGroup> = []
        var trustedUntil: ContinuousClock.Instant?
        /// The names under which a lease was seen, and how long that counts.
        var leases: [String: (group: CacheGroup, until: ContinuousClock.Instant)] = [:]
        var isUsed = false

        mutating func forget(_ key: CacheKey) {
            guard let old = entries.removeValue(forKey: key) else { return }
            bytes -= old.stored.record.bytes.count
        }

        func isLeased(_ key: CacheKey, at now: ContinuousClock.Instant) -> Bool {
            guard !leases.isEmpty, let lease = leases[key.name] else { return false }
            return lease.until > now
        }
    }

    /// The longest time for which a record is not read again, whatever is told.
    static let lifetime = Duration.seconds(30)
    /// The longest time since the last read for which a record counts while the database cannot be reached.
    static let outageLifetime = Duration.seconds(300)
    private static let settling = Duration.seconds(1)
    private static let leaseLifetime = Duration.seconds(120)
    private static let maximumBytes = 16 << 20
    private let state = Mutex(State())

    /// The knowledge of a key's record.
    enum Knowledge {
        case current(CacheRecord)
        /// The record was read before. It counts only while the database cannot be reached.
        case old(CacheRecord)
        case nothing
    }

    func knowledge(of key: CacheKey, at now: ContinuousClock.Instant = .now) -> Knowledge {
        state.withLock { state in
            guard let entry = state.entries[key] else { return .nothing }
            state.isUsed = true
            let age = entry.readAt.duration(to: now)
            guard age < Self.outageLifetime, !state.isLeased(key, at: now) else { return .nothing }
            guard age < Self.lifetime, entry.seenAt.duration(to: entry.readAt) >= Self.settling,
                entry.session == state.session, let end = state.trustedUntil, now < end
            else {
                return .old(entry.stored.record)
            }
            return .current(entry.stored.record)
        }
    }

    /// Whether records were asked for since the last call.
    func takeUse() -> Bool {
        state.withLock { state in
            defer { state.isUsed = false }
            return state.isUsed
        }
    }

    func begin(_ key: CacheKey) -> Access {
        state.withLock { state in
            state.lastNumber += 1
            let session = state.heard.contains(key.group) ? state.session : 0
            state.pending[state.lastNumber] = Pending(key: key, session: session)
            return Access(number: state.lastNumber)
        }
    }

    /// Ends a read or a write.
    ///
    /// - Parameter found: The record that is stored now; `nil` if there is none or it is not known.
    /// - Returns: The record, in the array that was given out before if it is equal.
    @discardableResult
    func end(_ access: Access, _ found: Stored?, at now: ContinuousClock.Instant = .now) -> CacheRecord? {
        state.withLock { state in
            guard let pending = state.pending.removeValue(forKey: access.number) else { return found?.record }
            let old = state.entries[pending.key]
            state.forget(pending.key)
            guard let found else { return nil }
            let record = old?.stored.record == found.record ? old?.stored.record ?? found.record : found.record
            // Writes are told of in their order: after a later one, this record is not the newest.
            let isNewest = pending.told == nil || pending.told == found.write
            let kinds: [CacheKey.Kind] = [.account, .application, .provider]
            guard isNewest, kinds.contains(pending.key.kind) else { return record }
            if state.bytes + record.bytes.count > Self.maximumBytes {
                for key in state.entries.keys.prefix(state.entries.count / 2 + 1) { state.forget(key) }
            }
            state.bytes += record.bytes.count
            state.entries[pending.key] = Entry(
                stored: Stored(record: record, write: found.write),
                seenAt: old?.stored.write == found.write ? old?.seenAt ?? now : now,
                readAt: now,
                session: pending.session == state.session ? pending.session : 0
            )
            return record
        }
    }

    /// Ends a read that found out nothing: the earlier knowledge stays.
    func keep(_ access: Access) {
        state.withLock { _ = $0.pending.removeValue(forKey: access.number) }
    }

    /// Notes that a lease is there, or is not: whoever looks for one is about to refresh, and must read the newest
    /// record.
    func note(lease key: CacheKey, isThere: Bool, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            if state.leases.count > 256 { state.leases = state.leases.filter { $0.value.until > now } }
            state.leases[key.name] = isThere ? (key.group, now + Self.leaseLifetime) : nil
            for kind in [CacheKey.Kind.account, .application, .provider] {
                state.forget(CacheKey(group: key.group, kind: kind, name: key.name))
            }
            for (number, pending) in state.pending where pending.key.name == key.name && pending.key.kind != .lease {
                state.pending[number]?.told = []
            }
        }
    }
}

// What the database tells.
extension RecordMemory {
    /// Forgets a record that another write than the known one has stored.
    ///
    /// - Parameter write: The identifier of the write; empty for a removal.
    func receive(_ key: CacheKey, write: [UInt8]) {
        state.withLock { state in
            if let entry = state.entries[key], entry.stored.write != write { state.forget(key) }
            for (number, pending) in state.pending where pending.key == key { state.pending[number]?.told = write }
        }
    }

    /// Notes the groups whose changes are told from now on, over the connection that tells them already or a new one.
    func hear(_ groups: Set<CacheGroup>) {
        state.withLock { $0.heard = groups }
    }

    /// Notes that everything has been told that happened before a moment ago.
    func trust(until end: ContinuousClock.Instant) {
        state.withLock { $0.trustedUntil = end }
    }

    /// Notes that changes are not told any more.
    func endSession() {
        state.withLock { state in
            state.session += 1
            state.heard = []
            state.trustedUntil = nil
        }
    }

    /// Returns the names under which a lease was seen.
    func leaseNames(in group: CacheGroup) -> [String] {
        let now = ContinuousClock.now
        return state.withLock { state in
            state.leases = state.leases.filter { $0.value.until > now }
            return state.leases.filter { $0.value.group == group }.map(\.key)
        }
    }
}
