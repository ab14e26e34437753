// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// Writes that must not be lost.
extension CredentialStore {
    /// Writes credentials that must not be lost. If the write fails, the result is kept in memory and written with the
    /// next acquisition. `persistence` of the returned snapshot says which. A sign-in replaces a damaged record.
    ///
    /// - Returns: The credentials after the commit, or `nil` if the account was signed out.
    package func commit(_ id: RecordID, _ write: AccountWrite, at now: Int64) async throws -> CredentialSnapshot? {
        let key = key(for: id)
        let (earlier, signOuts, isKnown) = state.withLock { state in
            state.signOuts[key, default: SignOuts()].watchers += 1
            if write.isRotation { state.rotations += 1 }
            return (state.unsaved[id], state.signOutCount(of: key), state.entries[id]?.snapshot != nil)
        }
        defer {
            state.withLock { state in
                state.endWatch(of: key)
                if write.isRotation { state.rotations -= 1 }
            }
        }
        var writes = PendingWrites(write, hadRecord: earlier?.writes.hadRecord ?? isKnown, at: now)
        let snapshot: CredentialSnapshot?
        do {
            snapshot = try await update(id, replacesDamaged: write.isSignIn) { current in
                writes.meets(current)
                let isToFollow = earlier != nil && isSignedIn(key, since: signOuts)
                let all = isToFollow ? earlier?.writes.followed(by: writes) ?? writes : writes
                return all.replay(onto: current).credentials(over: current)
            }
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            return await keep(writes, write.credentials(at: now), of: id, (earlier, signOuts), after: failure)
        }
        guard let earlier else { return snapshot }
        // A sign-out removes the earlier commit itself, and counts its tokens as signed out.
        guard isSignedIn(key, since: signOuts) else { return try await withdraw(earlier, id) }
        saved(earlier, id)
        return snapshot
    }

    /// Keeps a failed write in memory. Keeps nothing if the account was signed out in the meantime and not signed in
    /// again.
    private func keep(
        _ writes: PendingWrites,
        _ credentials: AccountCredentials,
        of id: RecordID,
        _ before: (earlier: Unsaved?, signOuts: Int?),
        after failure: AuthenticationError
    ) async -> CredentialSnapshot? {
        let (key, earlier) = (key(for: id), before.earlier)
        let isSignedOut = earlier != nil && !isSignedIn(key, since: before.signOuts)
        let commit = state.withLock { state -> Unsaved? in
            // Another write may have failed in the meantime. This one comes after it.
            let last = state.unsaved[id]
            if last == nil, isSignedOut, credentials.signInID == earlier?.signInID { return nil }
            var (writes, credentials) = (writes, credentials)
            if last?.snapshot !== earlier?.snapshot {
                writes.follows(last?.writes)
                if let last { credentials = writes.applied(to: last.snapshot.credentials) }
            }
            let commit = Unsaved(
                snapshot: CredentialSnapshot(
                    key: key,
                    record: nil,
                    credentials: credentials,
                    persistence: .failed(failure)
                ),
                writes: last?.writes.followed(by: writes) ?? writes,
                end: last?.end ?? Promise(),
                nextAttempt: nextAttempt(after: failure)
            )
            state.unsaved[id] = commit
            return commit
        }
        // The earlier write may have succeeded, too. If that cannot be found out, nothing is left to do.
        if let earlier, isSignedOut { _ = try? await withdraw(earlier, id) }
        return commit?.snapshot
    }

    /// Asks the cache whether records of the group could be written.
    func checkWritable() async throws {
        try await wrapping { try await cache.checkWritable(in: group) }
    }
}
