// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What one commit knows while it is written, and has to say should that fail.
struct CommitAttempt {
    let id: RecordID
    let key: CacheKey
    let isSignIn: Bool
    let change: @Sendable (AccountCredentials?) throws -> AccountCredentials?
    /// The one before it, whose write failed.
    let earlier: UnsavedCommit?
    /// How often the account was signed out here before; `nil` while it is being signed out.
    let signOuts: Int?
    /// Whether there is a record to write over, as far as is known.
    private(set) var hadRecord: Bool
    /// Whose records were there, by their incarnations; `nil` where none could be read.
    private(set) var overwrites: Set<String>?

    /// - Parameter state: Of the store, under its lock.
    init(
        _ id: RecordID,
        key: CacheKey,
        isSignIn: Bool,
        in state: CredentialStore.State,
        change: @escaping @Sendable (AccountCredentials?) throws -> AccountCredentials?
    ) {
        self.id = id
        self.key = key
        self.isSignIn = isSignIn
        self.change = change
        earlier = state.unsaved[id]
        signOuts = state.signOutCount(of: key)
        hadRecord = earlier?.hadRecord ?? (state.entries[id]?.snapshot != nil)
    }

    /// Remembers what is to be written over.
    mutating func meets(_ current: AccountCredentials?) {
        hadRecord = current != nil
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
        let credentials = isAsBefore ? nil : try? before.flatMap { try change($0.snapshot.credentials) }
        return UnsavedCommit(
            snapshot: CredentialSnapshot(
                key: key,
                record: nil,
                credentials: credentials ?? fallback,
                persistence: .failed(failure)
            ),
            isSignIn: isSignIn,
            hadRecord: isAsBefore ? hadRecord : before?.hadRecord ?? true,
            overwrites: overwrites.map { $0.union(before.incarnations) },
            replacesDamaged: isSignIn || before?.replacesDamaged ?? false,
            end: before?.end ?? SharedResult(),
            nextAttempt: nextAttempt,
            change: { [change] current in try change(try before.applied(to: current)) }
        )
    }
}
