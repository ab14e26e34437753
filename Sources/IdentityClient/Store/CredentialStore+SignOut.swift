// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// Removals, which win over saves that are under way.
extension CredentialStore {
    /// Removes a record, and gives what it held; nothing where it could not be read, or was not there.
    ///
    /// What could not be written before counts as held.
    package func take(_ key: CacheKey) async throws -> (wasThere: Bool, credentials: [AccountCredentials]) {
        // Before the record is read: a save that ends later takes back what it has written, and of one that has ended
        // by now the record is read.
        state.withLock { $0.signOuts[key, default: SignOuts()].begin() }
        defer { state.withLock { $0.endSignOut(of: key) } }
        for _ in 0..<Self.maximumAttempts {
            let record = try await wrapping { try await cache.record(for: key) }
            if let record {
                guard try await remove(record, key) else { continue }
                forget(key)
            }
            // Not before: where the removal fails, it is the only copy.
            let unsaved = forgetUnsaved(key).map(\.snapshot.credentials)
            // One that is damaged is gone all the same.
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
            // One whose answer did not come in time may be done all the same, and what it held is known here only.
            do {
                if try await wrapping({ try await cache.record(for: key) }) == nil { return true }
            } catch {}  // the first failure counts
            throw failure
        }
    }

    /// Whether nobody has begun to sign the account out here since the sign-outs were counted.
    func isSignedIn(_ key: CacheKey, since count: Int?) -> Bool {
        count != nil && state.withLock { $0.signOutCount(of: key) } == count
    }

    /// Removes what a commit has written, or may have, although the account was signed out meanwhile. A sign-in that
    /// came after that stays.
    func withdraw(_ commit: Unsaved, _ id: RecordID) async throws -> CredentialSnapshot? {
        try await update(id) { $0?.signInID == commit.signInID ? nil : $0 }
    }
}

/// The sign-outs of one account in this process.
struct SignOuts {
    private var count = 0
    private var underWay = 0
    /// How many writes have counted, and will count again.
    var watchers = 0

    /// Whether there is nothing to know of them any more.
    var isOver: Bool { underWay == 0 && watchers == 0 }

    /// How many have begun; `nil` while one is under way.
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
    /// How often the account was signed out here; `nil` while it is being signed out.
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
