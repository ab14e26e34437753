// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Records beside those of the accounts. None is kept in memory, because they are rarely read.
extension CredentialStore {
    /// A record of the kind `application`.
    func applicationRecord(_ key: CacheKey) async throws -> CacheRecord? {
        try await wrapping { try await cache.record(for: key) }
    }

    /// All records of the kind `application` in the group.
    func applicationRecords() async throws -> [CacheKey: CacheRecord] {
        try await wrapping { try await cache.records(of: .application, in: group) }
    }

    /// Compares and replaces.
    ///
    /// - Returns: Whether the record was `old`.
    func replaceApplicationRecord(_ key: CacheKey, _ old: CacheRecord?, with new: CacheRecord) async throws -> Bool {
        try await wrapping { try await cache.replace(old, with: new, for: key) }
    }

    /// Reads, changes and writes until no other process wrote in between.
    func updateApplicationRecord(_ key: CacheKey, _ change: (CacheRecord?) throws -> CacheRecord?) async throws {
        for _ in 0..<Self.maximumAttempts {
            let record = try await applicationRecord(key)
            let next = try change(record)
            if next == record { return }
            if try await wrapping({ try await cache.replace(record, with: next, for: key) }) { return }
            await Task.yield()
        }
        throw Self.busy
    }
}

/// The record of the accounts that a client works with.
struct AccountsInUseRecord: Sendable {
    let store: CredentialStore
    let key: CacheKey

    init(store: CredentialStore, scope: String) {
        self.store = store
        key = CacheKey(
            group: store.group,
            kind: .application,
            name: Digest.hexadecimal(of: ["accounts_in_use", scope, store.clientID])
        )
    }

    /// Reads the remembered accounts. A record that cannot be read counts as empty.
    func value() async throws -> AccountsInUse {
        Self.decoded(try await store.applicationRecord(key)) ?? AccountsInUse()
    }

    func update(_ change: (inout AccountsInUse) -> Void) async throws {
        try await store.updateApplicationRecord(key) { record in
            let known = Self.decoded(record)
            var value = known ?? AccountsInUse()
            // A record of a newer version stays as it is.
            guard value.version <= AccountsInUse.currentVersion else { return record }
            change(&value)
            return known == value ? record : CacheRecord(bytes: value.encoded())
        }
    }

    private static func decoded(_ record: CacheRecord?) -> AccountsInUse? {
        record.flatMap { try? AccountsInUse(decoding: $0.bytes) }  // damaged: it is written anew
    }
}
