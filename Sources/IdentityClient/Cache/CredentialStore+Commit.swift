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
        let key = key(for: id)
        let (earlier, known, signOuts) = state.withLock { state in
            (state.unsaved[id], state.entries[id]?.snapshot, state.signOutCount(of: key))
        }
        var hadRecord = earlier?.hadRecord ?? (known != nil)
        var overwrites: Set<String>?
        let snapshot: CredentialSnapshot?
        do {
            snapshot = try await update(id, replacesDamaged: isSignIn) { current in
                hadRecord = current != nil
                overwrites = (overwrites ?? []).union(current.map { [$0.incarnation] } ?? [])
                guard let earlier, isSignedIn(key, since: signOuts) else { return try change(current) }
                return try change(try earlier.applied(to: current))
            }
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            let fallback = fallback()
            let isSignedOut = earlier != nil && !isSignedIn(key, since: signOuts)
            let commit: UnsavedCommit? = state.withLock { state in
                // Another one may have failed meanwhile: this one comes after it, and decides anew.
                let before = state.unsaved[id]
                if before == nil, isSignedOut, fallback.incarnation == earlier?.incarnation { return nil }
                let isAsBefore = before?.snapshot === earlier?.snapshot
                // What cannot follow the other one stands for itself, until it is written.
                let credentials = isAsBefore ? nil : try? before.flatMap { try change($0.snapshot.credentials) }
                let commit = UnsavedCommit(
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
                    nextAttempt: nextAttempt(after: failure),
                    change: { current in try change(try before.applied(to: current)) }
                )
                state.unsaved[id] = commit
                return commit
            }
            // That may have been done, too. Where it cannot be found out, nothing is left to do.
            if let earlier, isSignedOut { _ = try? await withdraw(earlier, id) }
            return commit?.snapshot
        }
        guard let earlier else { return snapshot }
        // A sign-out forgets the earlier one itself: what it held counts as signed out.
        guard isSignedIn(key, since: signOuts) else { return try await withdraw(earlier, id) }
        saved(earlier, id)
        return snapshot
    }

    /// Asks the cache whether records of the group could be written.
    func checkWritable() async throws {
        try await wrapping { try await cache.checkWritable(in: group) }
    }
}
