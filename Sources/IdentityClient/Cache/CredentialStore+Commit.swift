// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// Writes that must not be lost.
extension CredentialStore {
    /// Like `update`, for what must not be lost: where the write fails, the result is kept in memory, and written with
    /// the next acquisition. `persistence` of what is returned tells which.
    package func commit(
        _ id: RecordID,
        fallback: @autoclosure () -> AccountCredentials,
        replacesDamaged: Bool = false,
        _ change: @escaping @Sendable (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> CredentialSnapshot? {
        let (earlier, known) = state.withLock { ($0.unsaved[id], $0.entries[id]?.snapshot) }
        var hadRecord = earlier?.hadRecord ?? (known != nil)
        do {
            let snapshot = try await update(id, replacesDamaged: replacesDamaged) { current in
                hadRecord = current != nil
                return try change(try earlier.applied(to: current))
            }
            saved(earlier, id)
            return snapshot
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            let (fallback, key) = (fallback(), key(for: id))
            let commit = state.withLock { state in
                // Another one may have failed meanwhile: this one comes after it, and decides anew.
                let before = state.unsaved[id]
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
                    hadRecord: isAsBefore ? hadRecord : before?.hadRecord ?? true,
                    end: before?.end ?? SharedResult(),
                    change: { current in try change(try before.applied(to: current)) }
                )
                state.unsaved[id] = commit
                return commit
            }
            return commit.snapshot
        }
    }

    /// Asks the cache whether records of the group could be written.
    func checkWritable() async throws {
        try await wrapping { try await cache.checkWritable(in: group) }
    }

    /// What could not be written of one account.
    func unsaved(_ id: RecordID) -> UnsavedCommit? {
        state.withLock { $0.unsaved[id] }
    }

    /// Writes what could not be written of one account, if there is anything.
    func saveUnsaved(_ id: RecordID) async throws {
        if let commit = unsaved(id) { _ = try await save(commit, id) }
    }

    /// Writes what could not be written before. One that fails does not keep the others.
    ///
    /// - Throws: The first failure.
    package func saveUnsaved() async throws {
        var failure: (any Error)?
        for (id, commit) in state.withLock({ $0.unsaved }) {
            do {
                _ = try await save(commit, id)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    func retry(_ unsaved: UnsavedCommit, id: RecordID, key: CacheKey) async throws -> CredentialSnapshot? {
        do {
            return try await save(unsaved, id)
        } catch AuthenticationError.cache {
            return unsaved.snapshot  // still not writable: what is in memory serves on
        }
    }

    private func save(_ commit: UnsavedCommit, _ id: RecordID) async throws -> CredentialSnapshot? {
        let snapshot = try await update(id) { try commit.applied(to: $0) }
        saved(commit, id)
        return snapshot
    }

    /// Forgets a commit that is written, unless a newer one took its place meanwhile.
    private func saved(_ commit: UnsavedCommit?, _ id: RecordID) {
        guard let commit else { return }
        let isLast = state.withLock { state in
            guard state.unsaved[id]?.snapshot === commit.snapshot else { return false }
            state.unsaved[id] = nil
            return true
        }
        if isLast { commit.end.finish(.success(())) }
    }

    @discardableResult
    func forgetUnsaved(_ key: CacheKey) -> [UnsavedCommit] {
        let forgotten = state.withLock { state in
            let forgotten = state.unsaved.filter { $0.value.snapshot.key == key }
            for id in forgotten.keys { state.unsaved[id] = nil }
            return Array(forgotten.values)
        }
        for commit in forgotten { commit.end.finish(.success(())) }
        return forgotten
    }
}

/// A commit whose write failed.
struct UnsavedCommit: Sendable {
    let snapshot: CredentialSnapshot
    /// Whether there was a record to write over. Where that is gone later, the account was signed out elsewhere.
    let hadRecord: Bool
    /// Comes when it is written or forgotten, and no later one has taken its place.
    let end: SharedResult<Void>
    let change: @Sendable (AccountCredentials?) throws -> AccountCredentials?

    func applied(to current: AccountCredentials?) throws -> AccountCredentials? {
        if hadRecord, current == nil { return nil }
        return try change(current)
    }
}

extension UnsavedCommit? {
    /// What there is once this one, if there is one, is written over `current`.
    fileprivate func applied(to current: AccountCredentials?) throws -> AccountCredentials? {
        guard let self else { return current }
        return try self.applied(to: current)
    }
}
