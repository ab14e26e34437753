// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The record of one credential's lease: takes, renews and gives it back by compare-and-replace.
struct RefreshLeaseStore: Sendable {
    let cache: any TokenCache
    let key: CacheKey
    /// Longer than a request may take.
    let duration: Duration

    /// A lease that is held, until it is given back or runs out.
    struct Held: Sendable {
        let record: CacheRecord
        let lease: RefreshLease
    }

    /// Returns what is there, and what this process sees of it.
    func read(since begin: ContinuousClock.Instant) async throws -> (record: CacheRecord?, sight: LeaseSight) {
        let record = try await cache.record(for: key)
        let lease = record.flatMap(RefreshLease.init)
        let me = ProcessTable.current()
        let sight = LeaseSight(
            lease,
            observer: me,
            bootTime: ProcessTable.bootTime(),
            elapsed: (ContinuousClock.now - begin).milliseconds,
            holderIsDead: lease.map { me.sees($0.holder) && ProcessTable.isDead($0.holder) } ?? false
        )
        return (record, sight)
    }

    /// Returns a new lease, or `nil` if the record is no longer the one that was read.
    func take(over record: CacheRecord?) async throws -> Held? {
        let lease = RefreshLease(
            nonce: SecureRandom.token(bytes: 16),
            duration: duration.milliseconds,
            holder: ProcessTable.current(),
            deadline: ProcessTable.bootTime() + duration.milliseconds
        )
        let mine = lease.encoded()
        return try await cache.replace(record, with: mine, for: key) ? Held(record: mine, lease: lease) : nil
    }

    /// Returns the lease, renewed if it would not outlast one more request; `nil` if another process took it over.
    func renewed(_ held: Held, toOutlast request: Duration) async throws -> Held? {
        if held.lease.outlasts(request.milliseconds, at: ProcessTable.bootTime()) { return held }
        return try await take(over: held.record)
    }

    /// Gives the lease back. One that can't be given back runs out by itself.
    func release(_ held: Held) async {
        _ = try? await cache.replace(held.record, with: nil, for: key)
    }
}

extension RefreshLease {
    /// Whether it no longer binds this process, which has seen it for so long.
    package func isOver(seenFor: Duration) -> Bool {
        let me = ProcessTable.current()
        return isOver(
            for: Observation(
                observer: me,
                bootTime: ProcessTable.bootTime(),
                seenFor: seenFor.milliseconds,
                holderIsDead: me.sees(holder) && ProcessTable.isDead(holder)
            )
        )
    }
}
