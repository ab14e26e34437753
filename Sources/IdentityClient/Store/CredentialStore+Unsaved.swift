// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The writes of an account that failed, until they are done.
struct Unsaved: Sendable {
    /// The account as it is in memory.
    let snapshot: CredentialSnapshot
    let writes: PendingWrites
    /// Comes when it is written or forgotten, and no later one has taken its place.
    let end: Promise<Void>
    /// While its write is stuck: when it is tried again though what is in memory would do.
    var nextAttempt: ContinuousClock.Instant?

    var signInID: String { snapshot.credentials.signInID }
}

// What could not be written, until it is.
extension CredentialStore {
    /// What could not be written of one account.
    func unsaved(_ id: RecordID) -> Unsaved? {
        state.withLock { $0.unsaved[id] }
    }

    /// Writes what could not be written of one account, if there is anything.
    func saveUnsaved(_ id: RecordID) async throws {
        guard unsaved(id) != nil else { return }
        if let failure = try await save(id).failure { throw failure }
    }

    /// Writes what could not be written before. One that fails does not keep the others.
    ///
    /// - Throws: The first failure.
    package func saveUnsaved() async throws {
        var failure: (any Error)?
        for id in state.withLock({ $0.unsaved.keys }) {
            do {
                try await saveUnsaved(id)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Writes what could not be written before; where that fails again, it serves on from memory.
    func retry(_ id: RecordID) async throws -> CredentialSnapshot? {
        try await save(id).snapshot
    }

    /// Returns what is in memory of an account whose write is stuck, while the write rests; `nil` once it is due again, to
    /// the one caller that then tries it.
    ///
    /// Storage that is busy takes seconds to say so, and a silent call that memory answers need not wait for it. Never for
    /// a refresh token that is sent: another process may have redeemed that one.
    func stuck(_ id: RecordID) -> CredentialSnapshot? {
        state.withLock { state in
            guard !state.unsaved.isEmpty, let commit = state.unsaved[id], let next = commit.nextAttempt else {
                return nil
            }
            let now = ContinuousClock.now
            guard now >= next else { return commit.snapshot }
            state.unsaved[id]?.nextAttempt = now + pause
            return nil
        }
    }

    /// What there is after an attempt to write, and why that failed. A write that was begun goes on without a caller who
    /// is cancelled: somebody has to see whether the account was signed out meanwhile.
    private func save(_ id: RecordID) async throws -> (snapshot: CredentialSnapshot?, failure: AuthenticationError?) {
        try await regardlessOfCancellation { [self] in try await attempt(id) }
    }

    private func attempt(_ id: RecordID) async throws -> (snapshot: CredentialSnapshot?, failure: AuthenticationError?)
    {
        let key = key(for: id)
        let (commit, signOuts) = state.withLock { state in
            state.signOuts[key, default: SignOuts()].watchers += 1
            return (state.unsaved[id], state.signOutCount(of: key))
        }
        defer { state.withLock { $0.endWatch(of: key) } }
        // Written by another call, or forgotten.
        guard let commit else { return (try await snapshot(for: id), nil) }
        // Being signed out. If that fails, it is still to be written.
        guard let signOuts else { return (commit.snapshot, nil) }
        var wanted: AccountCredentials?
        let outcome: Result<CredentialSnapshot?, any Error>
        do {
            let snapshot = try await update(id, replacesDamaged: commit.writes.hasSignIn) { current in
                guard isSignedIn(key, since: signOuts) else { return current }
                wanted = commit.writes.replay(onto: current).credentials(over: current)
                return wanted
            }
            outcome = .success(snapshot)
        } catch { outcome = .failure(error) }
        // A write that failed may have been done as well.
        guard isSignedIn(key, since: signOuts) else {
            return (try await withdraw(commit, id) ?? unsaved(id)?.snapshot, nil)
        }
        do {
            let snapshot = try outcome.get()
            saved(commit, id)
            return (snapshot, nil)
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            state.withLock { $0.unsaved[id]?.nextAttempt = nextAttempt(after: failure) }
            // Where the record can be read, it counts: another process may have redeemed the refresh token in memory.
            // A newer version's is not for this one to build on.
            guard let wanted, failure.code != .cacheNewerVersion else { return (commit.snapshot, failure) }
            let snapshot = CredentialSnapshot(
                key: key,
                record: nil,
                credentials: wanted,
                persistence: .failed(failure)
            )
            return (snapshot, failure)
        }
    }

    /// When a write is tried again that took seconds to fail; the others fail at once.
    func nextAttempt(after failure: AuthenticationError) -> ContinuousClock.Instant? {
        failure.code == .cacheBusy || failure.code == .keyringTimedOut ? .now + pause : nil
    }

    /// Forgets a commit that is written, unless a newer one took its place meanwhile.
    func saved(_ commit: Unsaved, _ id: RecordID) {
        let isLast = state.withLock { state in
            guard state.unsaved[id]?.snapshot === commit.snapshot else { return false }
            state.unsaved[id] = nil
            return true
        }
        if isLast { commit.end.finish(.success(())) }
    }

    @discardableResult
    func forgetUnsaved(_ key: CacheKey) -> [Unsaved] {
        let forgotten = state.withLock { state in
            let forgotten = state.unsaved.filter { $0.value.snapshot.key == key }
            for id in forgotten.keys { state.unsaved[id] = nil }
            return Array(forgotten.values)
        }
        for commit in forgotten { commit.end.finish(.success(())) }
        return forgotten
    }
}
