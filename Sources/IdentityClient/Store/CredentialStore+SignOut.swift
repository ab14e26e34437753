// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

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
