// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The failed writes of an account, until they succeed.
struct Unsaved: Sendable {
    /// The account as it is in memory.
    let snapshot: CredentialSnapshot
    let writes: PendingWrites
    /// Fulfilled when the writes have succeeded or are forgotten, and no later ones have replaced them.
    let end: Promise<Void>
    /// While a write is stuck, the time when it is tried again although memory has an answer.
    var nextAttempt: ContinuousClock.Instant?

    var signInID: String { snapshot.credentials.signInID }

    fileprivate var failure: AuthenticationError? {
        if case .failed(let failure) = snapshot.persistence { failure } else { nil }
    }
}

// Failed writes, until they succeed.
extension CredentialStore {
    /// Removes an access token that an API refused and whose renewal needs a person, so that no caller of any process gets
    /// it any more. A cache that fails here does not hide the caller's error.
    func forget(accessToken secret: String, of id: RecordID) async {
        _ = try? await update(id) { current in
            var current = current
            current?.accessTokens.removeAll { $0.secret == secret }
            return current
        }
    }

    /// Whether every write has reached the cache.
    var hasNoUnsaved: Bool { state.withLock { $0.unsaved.isEmpty } }

    /// The failure of a write that has not reached the cache; `nil` if there is none.
    var unsavedFailure: AuthenticationError? {
        state.withLock { Array($0.unsaved.values) }.lazy.compactMap(\.failure).first
    }

    /// The failure of a write without which the refresh token in the cache is spent, or an error in its place while the
    /// first attempt goes on; `nil` if there is no such write.
    var unsavedRotationFailure: AuthenticationError? {
        let (unsaved, isWriting) = state.withLock { (Array($0.unsaved.values), $0.rotations > 0) }
        return unsaved.lazy.filter(\.writes.isRotation).compactMap(\.failure).first
            ?? (isWriting ? AuthenticationError(.cacheBusy, "The write of the new tokens has not ended yet.") : nil)
    }

    /// Returns the failed writes of one account.
    func unsaved(_ id: RecordID) -> Unsaved? {
        state.withLock { $0.unsaved[id] }
    }

    /// Repeats the failed writes of one account, if there are any.
    func saveUnsaved(_ id: RecordID) async throws {
        guard unsaved(id) != nil else { return }
        if let failure = try await save(id).failure { throw failure }
    }

    /// Repeats all failed writes. If one fails, the others are still tried.
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

    /// Repeats the failed writes. If they fail again, the account is still served from memory.
    func retry(_ id: RecordID) async throws -> CredentialSnapshot? {
        try await save(id).snapshot
    }

    /// Returns the account in memory while its write is stuck and rests. When the write is due again, returns `nil` to
    /// the one caller that then tries it.
    ///
    /// Busy storage takes seconds to report that, and a silent call that memory can answer need not wait for it. This
    /// is never done for a refresh token that is sent, because another process may have redeemed it.
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

    /// Tries to write, and returns the account afterwards with the error if the write failed. A write that has begun
    /// continues if its caller is cancelled, because it must check whether the account was signed out in the meantime.
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
        // Another call has written it or forgotten it.
        guard let commit else { return (try await snapshot(for: id), nil) }
        // The account is being signed out. If that fails, the write is still needed.
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
        // A write that failed may still have taken effect.
        guard isSignedIn(key, since: signOuts) else {
            return (try await withdraw(commit, id) ?? unsaved(id)?.snapshot, nil)
        }
        do {
            let snapshot = try outcome.get()
            saved(commit, id)
            return (snapshot, nil)
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            state.withLock { $0.unsaved[id]?.nextAttempt = nextAttempt(after: failure) }
            // A readable record counts, because another process may have redeemed the refresh token in memory. A record
            // of a newer version must not be changed here.
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

    /// The time of the next attempt after a write that took seconds to fail. A write that failed at once is not
    /// delayed.
    func nextAttempt(after failure: AuthenticationError) -> ContinuousClock.Instant? {
        failure.code == .cacheBusy || failure.code == .keyringTimedOut ? .now + pause : nil
    }

    /// Forgets a commit that is written, unless a newer commit has replaced it.
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
