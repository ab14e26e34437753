// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization

/// Takes, renews and gives back the lease of one credential.
struct RefreshLeaseHolder: Sendable {
    let cache: any TokenCache
    let key: CacheKey
    /// Longer than a request may take.
    let duration: Duration

    /// Waits for the lease and takes it.
    ///
    /// - Parameter isSettled: Asked when the lease is free after a wait, and after a hint; `true` ends it without a lease
    ///   because somebody else did the work.
    /// - Returns: The lease, or `nil` when the matter is settled.
    /// - Throws: `.cacheBusy` when others hold it for longer than three leases.
    func acquire(unless isSettled: () async throws -> Bool) async throws -> Held? {
        let me = ProcessTable.current()
        let clock = ContinuousClock()
        let begin = clock.now
        var seen: (nonce: String, since: ContinuousClock.Instant)?
        var wait: RefreshWait?
        var pauses = 0
        while true {
            let record = try await cache.record(for: key)
            let lease = record.flatMap(RefreshLease.init)
            if let lease, seen?.nonce != lease.nonce { seen = (lease.nonce, clock.now) }
            if lease?.isOver(seenFor: clock.now - (seen?.since ?? clock.now)) != false {
                if seen != nil, try await isSettled() { return nil }
                if let held = try await take(over: record, as: me) { return held }
            }
            guard clock.now - begin < duration * 3 else {
                throw AuthenticationError(
                    .cacheBusy,
                    "Another program has been refreshing this token for too long, or cannot store what it got. Try again."
                )
            }
            guard let wait else {
                wait = RefreshWait(for: [key, key.credential], in: cache)
                continue  // what changed before it listened is seen by looking again
            }
            // The new token is there before the lease is given back.
            if try await wait.pause(pauses) == .hint, try await isSettled() { return nil }
            pauses += 1
        }
    }

    private func take(over record: CacheRecord?, as me: ProcessIdentity) async throws -> Held? {
        guard let term = try await begin(replacing: record, as: me) else { return nil }
        return Held(holder: self, term: term)
    }

    private func begin(replacing record: CacheRecord?, as me: ProcessIdentity) async throws -> Held.Term? {
        let deadline = ProcessTable.bootTime() + duration.milliseconds
        let lease = RefreshLease(
            nonce: SecureRandom.token(bytes: 16),
            duration: duration.milliseconds,
            holder: me,
            deadline: deadline
        )
        let mine = lease.encoded()
        guard try await cache.replace(record, with: mine, for: key) else { return nil }
        return Held.Term(record: mine, deadline: deadline)
    }
}

extension RefreshLeaseHolder {
    /// A lease that is held, until it is given back or runs out.
    final class Held: Sendable {
        /// The record to compare with, and until when it counts, in milliseconds of the boot clock.
        struct Term: Sendable {
            let record: CacheRecord
            let deadline: Int64
        }

        private let holder: RefreshLeaseHolder
        private let term: Mutex<Term>

        fileprivate init(holder: RefreshLeaseHolder, term: Term) {
            self.holder = holder
            self.term = Mutex(term)
        }

        /// Makes sure that the lease outlasts one more request.
        ///
        /// - Throws: `.cacheBusy` when somebody else took it over meanwhile.
        func outlast(_ request: Duration) async throws {
            guard try await isRenewed(toOutlast: request) else {
                throw AuthenticationError(
                    .cacheBusy,
                    "Another program took over the refresh of this token. Try again."
                )
            }
        }

        /// Renews the lease where it would not outlast one more request. `false` when somebody else took it over meanwhile.
        func isRenewed(toOutlast request: Duration) async throws -> Bool {
            let current = term.withLock { $0 }
            guard current.deadline - ProcessTable.bootTime() < request.milliseconds + 2000 else { return true }
            guard let next = try await holder.begin(replacing: current.record, as: ProcessTable.current()) else {
                return false
            }
            term.withLock { $0 = next }
            return true
        }

        /// Gives the lease back, in a task that was cancelled, too. One that cannot be given back runs out by itself.
        func release() async {
            let record = term.withLock { $0.record }
            await Task { _ = try? await holder.cache.replace(record, with: nil, for: holder.key) }.value
        }
    }
}

extension RefreshLease {
    /// Whether it binds this process no more, which has seen it for so long.
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
