// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A commit whose write failed. It may have been done all the same: a keyring may answer too late, and a directory be
/// synced in vain after the record has its name.
struct UnsavedCommit: Sendable {
    let snapshot: CredentialSnapshot
    let isSignIn: Bool
    /// Whether there was a record to write over. Where that is gone later, the account was signed out elsewhere.
    let hadRecord: Bool
    /// Whose records were there when it was to be written, by their incarnations; `nil` where none could be read.
    let overwrites: Set<String>?
    /// Whether a record that is damaged gives way.
    let replacesDamaged: Bool
    /// Comes when it is written or forgotten, and no later one has taken its place.
    let end: Promise<Void>
    /// While its write is stuck: when it is tried again though what is in memory would do.
    var nextAttempt: ContinuousClock.Instant?
    /// The refreshes since ``change``, as one.
    var refresh: RefreshChange?
    let change: @Sendable (AccountCredentials?) throws -> AccountCredentials?

    var incarnation: String { snapshot.credentials.incarnation }

    /// What there is once this is written over `current`.
    ///
    /// A record of the sign-in itself stays as it is: the write was done, and others may have refreshed since. The refresh
    /// token that the sign-in brought would be a spent one then. So does one of a sign-in that was written later.
    func applied(to current: AccountCredentials?) throws -> AccountCredentials? {
        if isSignIn, let current, current.incarnation == incarnation || isNewer(current.incarnation) { return current }
        if hadRecord, current == nil { return nil }
        let changed = try change(current)
        return refresh.map { $0.applied(to: changed) } ?? changed
    }

    private func isNewer(_ incarnation: String) -> Bool {
        overwrites?.contains(incarnation) == false
    }
}

extension UnsavedCommit? {
    /// What there is once this one, if there is one, is written over `current`.
    func applied(to current: AccountCredentials?) throws -> AccountCredentials? {
        guard let self else { return current }
        return try self.applied(to: current)
    }

    /// Its own, and those that it was to be written over.
    var incarnations: Set<String> {
        guard let self else { return [] }
        return (self.overwrites ?? []).union([self.incarnation])
    }
}
