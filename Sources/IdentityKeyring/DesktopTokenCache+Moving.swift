// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension DesktopTokenCache {
    /// Moves the tokens of `group` to another store: copies them, compares every copy with its original, remembers the
    /// new store, and removes the originals.
    ///
    /// Until all copies are proven the old store is the one in use, so that an interrupted move is simply done again. A
    /// record of the same name that the new store holds from earlier is replaced. Other programs of the group follow at
    /// their next write, or when they miss something. Leases are not moved.
    ///
    /// - Throws: `.invalidArgument` for a store that the policy does not list, and for memory; `.cacheBusy` when another
    ///   process changes or moves the tokens too fast; what the stores throw. Then the old store is still in use.
    public func move(to store: TokenStore, in group: CacheGroup) async throws {
        guard store != .memory, policy.stores.contains(store) else {
            throw AuthenticationError(
                .invalidArgument,
                "Tokens cannot be moved to the store '\(store)': the policy must list it, and it must last."
            )
        }
        let marked = try await marker.store(of: group)
        let found = if let marked { marked } else { try await foundStore(for: group) }
        let old = if let found { found } else { try await currentStore(for: group).store }
        guard old != store else { return }
        if store.needsKeyring { try await requireKeyring() }
        let source = try cache(old, for: group)
        let target = try cache(store, for: group)
        let copied = try await copy(group, from: source, to: target)
        try await verify(copied, in: target)
        try await marker.change(old, to: store, for: group)
        forgetOpened(group)
        try await clear(group, in: source, after: copied, to: target)
    }

    private func copy(
        _ group: CacheGroup,
        from source: any TokenCache,
        to target: any TokenCache
    ) async throws -> [CacheKey: CacheRecord] {
        var copied: [CacheKey: CacheRecord] = [:]
        for kind in Self.movableKinds {
            for (key, record) in try await source.records(of: kind, in: group) {
                try await put(record, under: key, in: target)
                copied[key] = record
            }
        }
        return copied
    }

    private func put(_ record: CacheRecord, under key: CacheKey, in target: any TokenCache) async throws {
        for _ in 0..<8 {
            let current = try await target.record(for: key)
            if current == record { return }
            if try await target.replace(current, with: record, for: key) { return }
        }
        throw AuthenticationError(.cacheBusy, "Another process changes the sign-ins while they are moved. Try again.")
    }

    private func verify(_ copied: [CacheKey: CacheRecord], in target: any TokenCache) async throws {
        for (key, record) in copied where try await target.record(for: key) != record {
            throw AuthenticationError(
                .cache,
                "A sign-in did not arrive in the new store as it was, so nothing was moved. Try again."
            )
        }
    }

    /// Removes the originals; one that was changed after it was copied is copied again first.
    private func clear(
        _ group: CacheGroup,
        in source: any TokenCache,
        after copied: [CacheKey: CacheRecord],
        to target: any TokenCache
    ) async throws {
        var copied = copied
        for kind in Self.movableKinds {
            for (key, first) in try await source.records(of: kind, in: group) {
                var record = first
                for _ in 0..<8 {
                    if copied[key] != record {
                        // Refused where the new store already has something newer: then that counts.
                        _ = try await target.replace(copied[key], with: record, for: key)
                        copied[key] = record
                    }
                    if try await source.replace(record, with: nil, for: key) { break }
                    guard let changed = try await source.record(for: key) else { break }
                    record = changed
                }
            }
        }
    }
}
