// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The exclusive right to refresh one credential, and who holds it. No wall clock decides about it.
package struct RefreshLease: Hashable, Sendable {
    /// Tells one lease from the next.
    package var nonce: String
    /// How long the holder may keep it, in milliseconds.
    package var duration: Int64
    package var holder: ProcessIdentity
    /// When it ends, in milliseconds of the boot clock: only for whoever booted with the holder.
    package var deadline: Int64

    package init(nonce: String, duration: Int64, holder: ProcessIdentity, deadline: Int64) {
        self.nonce = nonce
        self.duration = duration
        self.holder = holder
        self.deadline = deadline
    }

    /// A lease that claims more is cut to this, so that a damaged or hostile one does not bind for ever.
    package static let longest: Int64 = 120_000
}

extension RefreshLease {
    /// What who waits for a lease knows.
    package struct Observation: Sendable {
        package var observer: ProcessIdentity
        /// Milliseconds of the observer's boot clock.
        package var bootTime: Int64
        /// How long the observer itself has seen this very lease, in milliseconds of its own monotonic clock.
        package var seenFor: Int64
        /// Whether the holder was found dead; only looked at where the observer can see it.
        package var holderIsDead: Bool

        package init(observer: ProcessIdentity, bootTime: Int64, seenFor: Int64, holderIsDead: Bool) {
            self.observer = observer
            self.bootTime = bootTime
            self.seenFor = seenFor
            self.holderIsDead = holderIsDead
        }
    }

    /// Whether the lease binds nobody any more and may be taken over.
    package func isOver(for observation: Observation) -> Bool {
        if observation.seenFor >= duration { return true }
        guard observation.observer.sees(holder) else { return false }
        return observation.holderIsDead || observation.bootTime >= deadline
    }
}
