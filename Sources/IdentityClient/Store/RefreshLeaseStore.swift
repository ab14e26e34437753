// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Takes, renews and releases the lease of one credential by compare-and-replace of its record.
struct RefreshLeaseStore: Sendable {
    let cache: any TokenCache
    let key: CacheKey
    /// The duration of a lease, longer than a request may take.
    let duration: Duration

    /// A lease that this process holds until it is released or expires.
    struct Held: Sendable {
        let lease: RefreshLease
        let stored: StoredLease
    }

    /// Returns the record of the lease, and this process's view of it.
    func read(since begin: ContinuousClock.Instant) async throws -> (record: CacheRecord?, sight: LeaseSight) {
        let record = try await cache.record(for: key)
        return (record, try await LeaseSight(record, for: key, in: cache, elapsed: ContinuousClock.now - begin))
    }

    /// Returns a new lease, or `nil` if the record has changed since it was read.
    ///
    /// - Parameter turn: The turn that the lease continues; `nil` begins one.
    func take(over record: CacheRecord?, continuing turn: String? = nil) async throws -> Held? {
        let lease = RefreshLease(
            nonce: SecureRandom.token(bytes: 16),
            turn: turn,
            duration: duration.milliseconds,
            holder: ProcessTable.current(),
            deadline: ProcessTable.bootTime() + duration.milliseconds
        )
        let stored = try await cache.storeLease(over: record, with: { lease.locked($0).encoded() }, for: key)
        return stored.map { Held(lease: lease.locked($0.lock != nil), stored: $0) }
    }

    /// Returns the lease, renewed if it would not outlast one more request; `nil` if another process has taken it over.
    func renewed(_ held: Held, toOutlast request: Duration) async throws -> Held? {
        if held.lease.outlasts(request.milliseconds, at: ProcessTable.bootTime()) { return held }
        return try await take(over: held.stored.record, continuing: held.lease.turn)
    }

    /// Releases the lease. A lease that cannot be removed is free without its lock, or expires by itself.
    func release(_ held: Held) async {
        _ = try? await cache.replace(held.stored.record, with: nil, for: key)
        held.stored.lock?.end()
    }
}

extension LeaseSight {
    /// Creates the view of this process, which has run for `elapsed` since its first look.
    fileprivate init(_ record: CacheRecord?, for key: CacheKey, in cache: any TokenCache, elapsed: Duration)
        async throws
    {
        let (me, lease) = (ProcessTable.current(), record.flatMap(RefreshLease.init))
        let isLocked: Bool? =
            if let record, let lease, lease.isLocked {
                try await cache.findLeaseLock(record, for: key)
            } else { nil }
        self.init(
            lease,
            observer: me,
            bootTime: ProcessTable.bootTime(),
            elapsed: elapsed.milliseconds,
            isLocked: isLocked,
            holderIsDead: lease.map { me.sees($0.holder) && ProcessTable.isDead($0.holder) } ?? false
        )
    }
}

extension RefreshLease {
    /// Returns whether the lease in `record` binds this process, which has seen it for that long.
    package static func binds(
        _ record: CacheRecord,
        for key: CacheKey,
        in cache: any TokenCache,
        seenFor: Duration
    ) async throws -> Bool {
        try await !LeaseSight(record, for: key, in: cache, elapsed: seenFor).isFree(seenSince: 0)
    }

    fileprivate func locked(_ isLocked: Bool) -> RefreshLease {
        var lease = self
        lease.isLocked = isLocked
        return lease
    }
}
