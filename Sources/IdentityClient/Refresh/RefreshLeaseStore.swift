// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization
import SystemSupport

/// Takes, renews and releases the lease of one credential by compare-and-replace of its record.
struct RefreshLeaseStore: Sendable {
    let cache: any TokenCache
    let key: CacheKey
    /// The duration of a lease, longer than a request may take.
    let duration: Duration
    var strays = StrayLeases()

    /// A lease that this process holds until it is released or expires.
    struct Held: Sendable {
        let lease: RefreshLease
        let stored: StoredLease
    }

    /// Returns the record of the lease, and this process's view of it. A stray is none.
    func read(since begin: SuspendingClock.Instant) async throws -> (record: CacheRecord?, sight: LeaseSight) {
        let record = try await cache.record(for: key)
        var sight = try await LeaseSight(record, for: key, in: cache, elapsed: SuspendingClock.now - begin)
        if let lease = sight.lease, strays.contains(lease, under: key) { sight.lease = nil }
        return (record, sight)
    }

    /// Returns a new lease, or `nil` if the record has changed since it was read.
    ///
    /// - Parameter turn: The turn that the lease continues; `nil` begins one.
    /// - Throws: The cache's error. The lease may be stored all the same, and is then a stray.
    func take(over record: CacheRecord?, continuing turn: String? = nil) async throws -> Held? {
        let lease = RefreshLease(
            nonce: SecureRandom.token(bytes: 16),
            turn: turn,
            duration: duration.milliseconds,
            holder: ProcessTable.current(),
            deadline: ProcessTable.bootTime() + duration.milliseconds
        )
        do {
            let stored = try await cache.storeLease(over: record, with: { lease.locked($0).encoded() }, for: key)
            return stored.map { Held(lease: lease.locked($0.lock != nil), stored: $0) }
        } catch {
            strays.note(lease.nonce, under: key)
            if turn == nil { strays.remove(nil, in: self, mayComeLater: true) }
            throw error
        }
    }

    /// Returns the lease, renewed if it would not outlast one more request; `nil` if another process has taken it over.
    func renewed(_ held: Held, toOutlast request: Duration) async throws -> Held? {
        if held.lease.outlasts(request.milliseconds, at: ProcessTable.bootTime()) { return held }
        if let renewed = try await take(over: held.stored.record, continuing: held.lease.turn) { return renewed }
        // A renewal that failed before may be done.
        guard let record = try await cache.record(for: key), let lease = RefreshLease(decoding: record),
            strays.contains(lease, under: key)
        else { return nil }
        return try await take(over: record, continuing: held.lease.turn)
    }

    /// Releases the lease. A lease that cannot be removed is free without its lock, or is removed in the background.
    func release(_ held: Held) async {
        // A failure here says as little as one of a take.
        let isUnknown = (try? await cache.replace(held.stored.record, with: nil, for: key)) == nil
        let stray = isUnknown && held.stored.lock == nil ? held.lease.nonce : nil
        strays.remove(stray, in: self, mayComeLater: false)
        held.stored.lock?.end()
    }
}
