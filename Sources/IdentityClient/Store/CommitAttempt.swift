// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What a commit does to a record.
enum Change: Sendable {
    case refresh(RefreshChange)
    case other(@Sendable (AccountCredentials?) throws -> AccountCredentials?)

    func applied(to current: AccountCredentials?) throws -> AccountCredentials? {
        switch self {
        case .refresh(let refresh): refresh.applied(to: current)
        case .other(let change): try change(current)
        }
    }
}

/// What one commit knows while it is written, and has to say should that fail.
struct CommitAttempt {
    let id: RecordID
    let key: CacheKey
    let isSignIn: Bool
    let change: Change
    /// The one before it, whose write failed.
    let earlier: UnsavedCommit?
    /// How often the account was signed out here before; `nil` while it is being signed out.
    let signOuts: Int?
    /// Whether there is a record to write over, as far as is known.
    private(set) var hadRecord: Bool
    /// Whose records were there, by their incarnations; `nil` where none could be read.
    private(set) var overwrites: Set<String>?
    /// The refresh token that was there last.
    private var stored: String?

    /// - Parameter state: Of the store, under its lock.
    init(
        _ id: RecordID,
        key: CacheKey,
        isSignIn: Bool,
        in state: CredentialStore.State,
        change: Change
    ) {
        self.id = id
        self.key = key
        self.isSignIn = isSignIn
        self.change = change
        earlier = state.unsaved[id]
        signOuts = state.signOutCount(of: key)
        // A sign-in is written unless it has seen a record that went later. What is in memory may be gone already: taken for
        // a record it would let the sign-in pass for one that was signed out.
        hadRecord = !isSignIn && (earlier?.hadRecord ?? (state.entries[id]?.snapshot != nil))
    }

    /// Remembers what is to be written over.
    mutating func meets(_ current: AccountCredentials?) {
        hadRecord = current != nil
        stored = current?.refreshToken?.secret
        overwrites = (overwrites ?? []).union(current.map { [$0.incarnation] } ?? [])
    }

    /// What is kept of it once its write has failed.
    ///
    /// - Parameters:
    ///   - before: Another one, whose write has failed by now: this one comes after it, and decides anew.
    ///   - fallback: What there is where that cannot be decided.
    func unsaved(
        after before: UnsavedCommit?,
        fallback: AccountCredentials,
        failure: AuthenticationError,
        nextAttempt: ContinuousClock.Instant?
    ) -> UnsavedCommit {
        let isAsBefore = before?.snapshot === earlier?.snapshot
        // What cannot follow the other one stands for itself, until it is written.
        let credentials = isAsBefore ? nil : try? before.flatMap { try change.applied(to: $0.snapshot.credentials) }
        let (refresh, beneath) = folded(onto: before)
        return UnsavedCommit(
            snapshot: CredentialSnapshot(
                key: key,
                record: nil,
                credentials: credentials ?? fallback,
                persistence: .failed(failure)
            ),
            isSignIn: isSignIn,
            hadRecord: isAsBefore || isSignIn ? hadRecord : before?.hadRecord ?? true,
            overwrites: overwrites.map { $0.union(before.incarnations) },
            replacesDamaged: isSignIn || before?.replacesDamaged ?? false,
            end: before?.end ?? Promise(),
            nextAttempt: nextAttempt,
            refresh: refresh,
            change: beneath
        )
    }

    /// What is to be done after `before`: refreshes that follow each other are one.
    private func folded(
        onto before: UnsavedCommit?
    ) -> (RefreshChange?, @Sendable (AccountCredentials?) throws -> AccountCredentials?) {
        guard case .refresh(let refresh) = change else {
            return (nil, { [change] in try change.applied(to: before.applied(to: $0)) })
        }
        if let before, let folded = before.refresh?.followed(by: refresh, stored: stored) {
            return (folded, before.change)
        }
        return (refresh, { try before.applied(to: $0) })
    }
}
