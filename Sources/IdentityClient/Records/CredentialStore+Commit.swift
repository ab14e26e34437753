// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

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
            // A refresh reads the record under its lease before it asks for the tokens.
            snapshot = try await update(id, replacesDamaged: write.isSignIn, wasJustRead: !write.isSignIn) { current in
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
            let last = state.unsaved[id]
            let isOfEarlierSignIn = credentials.signInID == earlier?.signInID
            if last == nil, isSignedOut, isOfEarlierSignIn { return nil }
            var (writes, credentials) = (writes, credentials)
            let isAnother = last?.snapshot !== earlier?.snapshot
            // Another write failed meanwhile. This one comes after it, and changes what it has left.
            if isAnother { writes.follows(last?.writes) }
            if isAnother, let last { credentials = writes.applied(to: last.snapshot.credentials) }
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

// Removals, which take precedence over saves that are running.
extension CredentialStore {
    /// Removes a record and returns its credentials; none if the record was not there or could not be read.
    ///
    /// Writes that failed before count as part of the record.
    package func take(_ key: CacheKey) async throws -> (wasThere: Bool, credentials: [AccountCredentials]) {
        // The sign-out begins before the record is read. A save that ends later withdraws its write; a save that has
        // ended by now is part of the record.
        state.withLock { $0.signOuts[key, default: SignOuts()].begin() }
        defer { state.withLock { $0.endSignOut(of: key) } }
        for _ in 0..<Self.maximumAttempts {
            let record = try await wrapping { try await cache.record(for: key) }
            if let record {
                guard try await remove(record, key) else { continue }
                forget(key)
            }
            // Not earlier, because memory has the only copy if the removal fails.
            let unsaved = forgetUnsaved(key).map(\.snapshot.credentials)
            // A damaged record is removed as well.
            let held = record.flatMap {
                try? AccountCredentials(decoding: $0.bytes, rule: Authority.scopeRule(forPartition:))
            }
            return (record != nil || !unsaved.isEmpty, unsaved + [held].compactMap(\.self))
        }
        throw Self.busy
    }

    private func remove(_ record: CacheRecord, _ key: CacheKey) async throws -> Bool {
        do {
            return try await wrapping { try await cache.replace(record, with: nil, for: key) }
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            // A removal whose answer came too late may have succeeded, and its credentials are known only here.
            do {
                if try await wrapping({ try await cache.record(for: key) }) == nil { return true }
            } catch {}  // the first failure counts
            throw failure
        }
    }

    /// Whether no sign-out of the account has begun in this process since the sign-outs were counted.
    func isSignedIn(_ key: CacheKey, since count: Int?) -> Bool {
        count != nil && state.withLock { $0.signOutCount(of: key) } == count
    }

    /// Removes the result of a commit whose account was signed out in the meantime, even if it is unknown whether the
    /// commit succeeded. A later sign-in stays.
    func withdraw(_ commit: Unsaved, _ id: RecordID) async throws -> CredentialSnapshot? {
        try await update(id) { $0?.signInID == commit.signInID ? nil : $0 }
    }
}

/// The sign-outs of one account in this process.
struct SignOuts {
    private var count = 0
    private var underWay = 0
    /// The number of writes that have counted the sign-outs and will count them again.
    var watchers = 0

    /// Whether this value is no longer needed.
    var isOver: Bool { underWay == 0 && watchers == 0 }

    /// The number of sign-outs that have begun; `nil` while one is running.
    var settledCount: Int? { underWay == 0 ? count : nil }

    mutating func begin() {
        count += 1
        underWay += 1
    }

    mutating func end() {
        underWay -= 1
    }
}

extension CredentialStore.State {
    /// The number of times that the account was signed out in this process; `nil` while a sign-out is running.
    func signOutCount(of key: CacheKey) -> Int? {
        signOuts.isEmpty ? 0 : (signOuts[key] ?? SignOuts()).settledCount
    }

    mutating func endWatch(of key: CacheKey) {
        signOuts[key]?.watchers -= 1
        if signOuts[key]?.isOver == true { signOuts[key] = nil }
    }

    mutating func endSignOut(of key: CacheKey) {
        signOuts[key]?.end()
        if signOuts[key]?.isOver == true { signOuts[key] = nil }
    }
}
