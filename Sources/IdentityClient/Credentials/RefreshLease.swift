// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The exclusive right to refresh one credential, and its holder. It does not depend on the wall clock.
package struct RefreshLease: Hashable, Sendable {
    /// A value that distinguishes this lease from the next.
    package var nonce: String
    /// The nonce with which the holder took the lease. It stays the same when the holder renews the lease.
    package var turn: String
    /// The longest time that the holder may keep the lease, in milliseconds.
    package var duration: Int64
    package var holder: ProcessIdentity
    /// The end of the lease, in milliseconds of the boot clock. It is valid only for processes of the same boot.
    package var deadline: Int64
    /// Whether the holder's process holds a lock for as long as it holds the lease (``LeaseLocking``).
    package var isLocked: Bool

    /// - Parameter turn: `nil` means that the lease was not held before.
    package init(
        nonce: String,
        turn: String? = nil,
        duration: Int64,
        holder: ProcessIdentity,
        deadline: Int64,
        isLocked: Bool = false
    ) {
        self.nonce = nonce
        self.turn = turn ?? nonce
        self.duration = duration
        self.holder = holder
        self.deadline = deadline
        self.isLocked = isLocked
    }

    /// The longest lease, in milliseconds. A longer lease is cut to this, so that a damaged or hostile lease does not
    /// bind forever.
    package static let maximumDuration: Int64 = 120_000
}

extension RefreshLease {
    /// Whether the lease outlasts one more request of so many milliseconds, by its holder's boot clock.
    package func outlasts(_ request: Int64, at bootTime: Int64) -> Bool {
        deadline - bootTime >= request + 2000
    }
}

/// The view that one process, the observer, has of a lease, with the readings of its clocks.
package struct LeaseSight: Hashable, Sendable {
    /// `nil` if there is no lease, or only a damaged one, which binds no process.
    package var lease: RefreshLease?
    package var observer: ProcessIdentity
    /// Milliseconds of the boot clock.
    package var bootTime: Int64
    /// Milliseconds of the observer's monotonic clock since its first look.
    package var elapsed: Int64
    /// Whether a process holds the lease's lock; `nil` for a lease without a lock, and if the observer cannot know.
    package var isLocked: Bool?
    /// Whether the holder's process was found dead. It counts only if the observer can see that process, and if there is
    /// no lock to ask.
    package var holderIsDead: Bool

    package init(
        _ lease: RefreshLease?,
        observer: ProcessIdentity,
        bootTime: Int64,
        elapsed: Int64,
        isLocked: Bool? = nil,
        holderIsDead: Bool
    ) {
        self.lease = lease
        self.observer = observer
        self.bootTime = bootTime
        self.elapsed = elapsed
        self.isLocked = isLocked
        self.holderIsDead = holderIsDead
    }

    /// Returns whether the observer may take the lease, if it first saw the lease at `seenSince` of its monotonic clock.
    package func isFree(seenSince: Int64) -> Bool {
        guard let lease else { return true }
        if elapsed - seenSince >= lease.duration || isLocked == false { return true }
        guard observer.sees(lease.holder) else { return false }
        return bootTime >= lease.deadline || isLocked == nil && holderIsDead
    }
}
