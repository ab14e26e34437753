// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// Writes that must not be lost.
extension CredentialStore {
    /// Like `update`, for what must not be lost: where the write fails, the result is kept in memory, and written with
    /// the next acquisition.
    package func commit(
        _ id: RecordID,
        fallback: @autoclosure () -> AccountCredentials,
        replacesDamaged: Bool = false,
        _ change: @escaping @Sendable (AccountCredentials?) throws -> AccountCredentials?
    ) async throws -> (CredentialSnapshot?, AuthenticationResult.Persistence) {
        let earlier = state.withLock { $0.unsaved[id] }
        let change: @Sendable (AccountCredentials?) throws -> AccountCredentials? = { current in
            try change(try earlier.map { try $0.change(current) } ?? current)
        }
        do {
            let snapshot = try await update(id, replacesDamaged: replacesDamaged, change)
            saved(earlier, id)
            return (snapshot, .persisted)
        } catch let failure as AuthenticationError where .cache ~= failure.code {
            let snapshot = CredentialSnapshot(key: key(for: id), record: nil, credentials: fallback())
            state.withLock { $0.unsaved[id] = UnsavedCommit(snapshot: snapshot, change: change) }
            return (snapshot, .failed(failure))
        }
    }

    /// Writes what could not be written before.
    package func saveUnsaved() async throws {
        let unsaved = state.withLock { $0.unsaved }
        for (id, commit) in unsaved {
            _ = try await update(id, commit.change)
            saved(commit, id)
        }
    }

    func retry(_ unsaved: UnsavedCommit, id: RecordID, key: CacheKey) async throws -> CredentialSnapshot? {
        do {
            let snapshot = try await update(id, unsaved.change)
            saved(unsaved, id)
            return snapshot
        } catch AuthenticationError.cache {
            return unsaved.snapshot  // still not writable: what is in memory serves on
        }
    }

    /// Forgets a commit that is written, unless a newer one took its place meanwhile.
    private func saved(_ commit: UnsavedCommit?, _ id: RecordID) {
        guard let commit else { return }
        state.withLock { state in
            if state.unsaved[id]?.snapshot === commit.snapshot { state.unsaved[id] = nil }
        }
    }

    @discardableResult
    func forgetUnsaved(_ key: CacheKey) -> [UnsavedCommit] {
        state.withLock { state in
            let forgotten = state.unsaved.filter { $0.value.snapshot.key == key }
            for id in forgotten.keys { state.unsaved[id] = nil }
            return Array(forgotten.values)
        }
    }
}

/// A commit whose write failed.
struct UnsavedCommit: Sendable {
    let snapshot: CredentialSnapshot
    let change: @Sendable (AccountCredentials?) throws -> AccountCredentials?
}
