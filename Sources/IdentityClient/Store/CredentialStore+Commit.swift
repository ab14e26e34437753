// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// Writes that must not be lost.
extension CredentialStore {
    /// Like `update`, for what must not be lost: where the write fails, the result is kept in memory, and written with
    /// the next acquisition. `persistence` of what is returned tells which.
    ///
    /// - Parameter isSignIn: Whether `change` begins a new incarnation: a record that is damaged gives way to it.
    package func commit(
        _ id: RecordID,
        fallback: @autoclosure () -> AccountCredentials,
        isSignIn: Bool = false,
        _ change: @escaping @Sendable (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> CredentialSnapshot? {
        try await commit(id, fallback: fallback(), isSignIn: isSignIn, .other(change))
    }

    /// The same for a refresh. Those that follow each other while nothing can be written are kept as one.
    func commit(
        _ id: RecordID,
        fallback: @autoclosure () -> AccountCredentials,
        _ refresh: RefreshChange
    ) async throws -> CredentialSnapshot? {
        try await commit(id, fallback: fallback(), isSignIn: false, .refresh(refresh))
    }

    private func commit(
        _ id: RecordID,
        fallback: @autoclosure () -> AccountCredentials,
        isSignIn: Bool,
        _ change: Change
    ) async throws -> CredentialSnapshot? {
        let key = key(for: id)
        var attempt = state.withLock { state in
            state.signOuts[key, default: SignOuts()].watchers += 1
            return CommitAttempt(id, key: key, isSignIn: isSignIn, in: state, change: change)
        }
        defer { state.withLock { $0.endWatch(of: key) } }
        let (earlier, signOuts) = (attempt.earlier, attempt.signOuts)
        let snapshot: CredentialSnapshot?
        do {
            snapshot = try await update(id, replacesDamaged: isSignIn) { current in
                attempt.meets(current)
                guard let earlier, isSignedIn(key, since: signOuts) else {
                    return try change.applied(to: current)
                }
                return try change.applied(to: earlier.applied(to: current))
            }
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            return await keep(attempt, fallback: fallback(), after: failure)
        }
        guard let earlier else { return snapshot }
        // A sign-out forgets the earlier one itself: what it held counts as signed out.
        guard isSignedIn(key, since: signOuts) else { return try await withdraw(earlier, id) }
        saved(earlier, id)
        return snapshot
    }

    /// Keeps in memory what could not be written; nothing where the account was signed out meanwhile, and nobody in again.
    private func keep(
        _ attempt: CommitAttempt,
        fallback: AccountCredentials,
        after failure: AuthenticationError
    ) async -> CredentialSnapshot? {
        let earlier = attempt.earlier
        let isSignedOut = earlier != nil && !isSignedIn(attempt.key, since: attempt.signOuts)
        let commit: UnsavedCommit? = state.withLock { state in
            // Another one may have failed meanwhile.
            let before = state.unsaved[attempt.id]
            if before == nil, isSignedOut, fallback.incarnation == earlier?.incarnation { return nil }
            let commit = attempt.unsaved(
                after: before,
                fallback: fallback,
                failure: failure,
                nextAttempt: nextAttempt(after: failure)
            )
            state.unsaved[attempt.id] = commit
            return commit
        }
        // That may have been done, too. Where it cannot be found out, nothing is left to do.
        if let earlier, isSignedOut { _ = try? await withdraw(earlier, attempt.id) }
        return commit?.snapshot
    }

    /// Asks the cache whether records of the group could be written.
    func checkWritable() async throws {
        try await wrapping { try await cache.checkWritable(in: group) }
    }
}
