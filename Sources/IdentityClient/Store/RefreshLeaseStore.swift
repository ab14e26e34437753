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
        let record: CacheRecord
        let lease: RefreshLease
    }

    /// Returns the record of the lease, and this process's view of it.
    func read(since begin: ContinuousClock.Instant) async throws -> (record: CacheRecord?, sight: LeaseSight) {
        let record = try await cache.record(for: key)
        return (record, LeaseSight(record.flatMap(RefreshLease.init), elapsed: ContinuousClock.now - begin))
    }

    /// Returns a new lease, or `nil` if the record has changed since it was read.
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

    /// Returns the lease, renewed if it would not outlast one more request; `nil` if another process has taken it over.
    func renewed(_ held: Held, toOutlast request: Duration) async throws -> Held? {
        if held.lease.outlasts(request.milliseconds, at: ProcessTable.bootTime()) { return held }
        return try await take(over: held.record)
    }

    /// Releases the lease. A lease that cannot be released expires by itself.
    func release(_ held: Held) async {
        _ = try? await cache.replace(held.record, with: nil, for: key)
    }
}

extension LeaseSight {
    /// Creates the view of this process, which has run for `elapsed` since its first look.
    fileprivate init(_ lease: RefreshLease?, elapsed: Duration) {
        let me = ProcessTable.current()
        self.init(
            lease,
            observer: me,
            bootTime: ProcessTable.bootTime(),
            elapsed: elapsed.milliseconds,
            holderIsDead: lease.map { me.sees($0.holder) && ProcessTable.isDead($0.holder) } ?? false
        )
    }
}

extension RefreshLease {
    /// Whether this process may take over the lease, which it has seen for that long.
    package func mayBeTakenOver(seenFor: Duration) -> Bool {
        LeaseSight(self, elapsed: seenFor).isFree(seenSince: 0)
    }
}
