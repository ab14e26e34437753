// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension DesktopTokenCache {
    /// Moves the tokens of `group` to another store: copies them, compares every copy with its original, records the
    /// new store, and removes the originals. If no store was chosen yet, this chooses it, and moves tokens that are in files
    /// or, if the policy would find them there, in the keyring itself.
    ///
    /// The old store is in use until all copies are verified. If a move is interrupted, call this again; its copies are
    /// removed by the next move or by the group's next write. An older record of the same name in the new store is replaced.
    /// Writers wait meanwhile, and other programs of the group that use the same directory follow at once. A move waits for
    /// refreshes, a minute at most.
    ///
    /// The key of encrypted files stays in the keyring, because files of the group in another directory may need it. The
    /// records in the keyring itself belong to the user and the group, not to a directory: a move out of the keyring takes
    /// them from every directory that uses them, and a failed move into the keyring removes all of the group's items there.
    ///
    /// If a key file has another path now, for example because the home was moved, move the tokens to the store with that path:
    /// the key is used if it is the same.
    ///
    /// - Throws: `.invalidArgument` for a store that the policy does not accept, and for memory; `.cacheBusy` if another
    ///   process changes, moves or refreshes the tokens; the errors of the stores. Then the old store is still in use.
    ///   `CancellationError`.
    public func move(to location: TokenLocation, in group: CacheGroup) async throws {
        guard location != .memory, inUse.policy.accepts(location) else {
            throw AuthenticationError(
                .invalidArgument,
                "Tokens cannot be moved to the store '\(location)': the policy must accept it, and it must last."
            )
        }
        try await move(to: location, in: group, within: .seconds(60))
    }

    /// - Parameter timeout: The longest wait for refreshes.
    private func move(to store: TokenLocation, in group: CacheGroup, within timeout: Duration) async throws {
        let locks = try await locksBetweenRefreshes(of: group, within: timeout)
        defer { locks.forEach { $0.end() } }
        if store.needsKeyring { try await stores.requireKeyring() }
        guard let mark = try await settledMark(of: group) else { return try await moveFirst(to: store, in: group) }
        guard mark.store != store else {
            // From now on the store is chosen, and not only used for want of a keyring.
            var chosen = mark
            chosen.isFallback = false
            if chosen != mark { try await inUse.marker.change(mark, to: chosen, for: group) }
            return
        }
        let source = try await stores.source(mark.store, for: group, movingTo: store)
        let target = try stores.cache(store, for: group)
        var copying = mark
        copying.copies = store
        try await inUse.marker.change(mark, to: copying, for: group)
        let copied: [CacheKey: CacheRecord]
        // The addition wraps, because a damaged marker may contain the greatest number. Numbers are only compared.
        let clearing = StoreMark(store: store, moves: mark.moves &+ 1, copies: mark.store)
        do {
            copied = try await copy(group, from: source, to: target)
            try await verify(copied, in: target)
            try await inUse.marker.change(copying, to: clearing, for: group)
        } catch {
            // The first error counts. Copies that cannot be removed now are removed by the next move.
            _ = try? await settledMark(of: group)
            throw error
        }
        inUse.forget(group)
        try await clear(copied, in: source)
        try await stores.plain.removeUnfinishedFiles(in: group)
        try await inUse.marker.change(clearing, to: StoreMark(store: store, moves: clearing.moves), for: group)
    }

    /// Removes the tokens of `group` without reading them, for a store whose keyring is gone, and the recorded choice. The next
    /// sign-in chooses a store.
    ///
    /// - Returns: The old store, and whether its tokens are removed. Items of a keyring that cannot be used stay.
    /// - Throws: The errors of the file cache.
    package func discard(_ group: CacheGroup) async throws -> (store: TokenLocation?, isRemoved: Bool) {
        let locks = try await stores.moveLocks().takeAll(in: group)
        defer { locks.forEach { $0.end() } }
        let store = try await inUse.remembered(for: group)
        for sealed in [TokenLocation.encryptedFile] + [store].compactMap({ $0 }).filter(\.hasKeyFile) {
            try await removeAll(of: group, in: try stores.sealedFiles(of: sealed))
        }
        try await removeAll(of: group, in: stores.plain)
        var isRemoved = true
        if store == .keyring {
            do {
                try await removeAll(of: group, in: try stores.cache(.keyring, for: group))
            } catch AuthenticationError.Code.cache {
                isRemoved = false
            }
        }
        try await inUse.marker.forget(group)
        inUse.forget(group)
        return (store, isRemoved)
    }

    private func removeAll(of group: CacheGroup, in cache: any TokenCache) async throws {
        for kind in DesktopStores.movableKinds {
            for (key, record) in try await cache.records(of: kind, in: group) {
                _ = try await cache.replace(record, with: nil, for: key)
            }
        }
        // A writer that was killed may have left a token there.
        try await (cache as? FileTokenCache)?.removeUnfinishedFiles(in: group)
    }

    /// Takes all locks of the group at a time when no process refreshes. A refreshing process has a lease in the old
    /// store, and no process would find it in the new store. A process that needs a lease waits for the lock.
    private func locksBetweenRefreshes(of group: CacheGroup, within timeout: Duration) async throws -> [HeldLock] {
        let clock = SuspendingClock()
        let begin = clock.now
        var seen: [CacheRecord: SuspendingClock.Instant] = [:]
        while true {
            let locks = try await stores.moveLocks().takeAll(in: group)
            guard try await isRefreshing(group, &seen) else { return locks }
            locks.forEach { $0.end() }
            guard clock.now - begin < timeout else {
                throw AuthenticationError(
                    .cacheBusy,
                    "A program is refreshing a token, or cannot store the new token. Try again."
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether a process has a lease in the group.
    ///
    /// - Parameter seen: The leases that were seen before, and since when.
    private func isRefreshing(_ group: CacheGroup, _ seen: inout [CacheRecord: SuspendingClock.Instant]) async throws
        -> Bool
    {
        guard let store = try await inUse.rememberedOrFound(for: group) else { return false }
        let cache = try stores.cache(store, for: group)
        var isRefreshing = false
        for (key, record) in try await cache.records(of: .lease, in: group) {
            let since = seen[record] ?? .now
            seen[record] = since
            if try await RefreshLease.binds(record, for: key, in: cache, seenFor: .now - since) { isRefreshing = true }
        }
        return isRefreshing
    }

    /// Removes the copies of an interrupted move, which may be clear text, and moves the tokens to the policy's first store if
    /// they are elsewhere only for want of a keyring. This object tries once. A failure fails no write; the next program tries
    /// again.
    func settle(_ group: CacheGroup) async throws {
        guard let mark = try await inUse.marker.mark(of: group), mark.copies != nil || mark.isFallback,
            inUse.isFirstToSettle(group)
        else { return }
        do {
            if let store = StoreChoice.better(than: mark, inUse.policy) {
                try await stores.requireKeyring()  // Before the locks, so that a silent keyring delays no writer.
                return try await move(to: store, in: group, within: .zero)
            }
            let locks = try await stores.moveLocks().takeAll(in: group)
            defer { locks.forEach { $0.end() } }
            _ = try await settledMark(of: group)
        } catch AuthenticationError.Code.cache {}
    }

    /// Chooses a store if none was chosen. Copies the records that this object has in memory.
    private func moveFirst(to store: TokenLocation, in group: CacheGroup) async throws {
        if inUse.known(for: group)?.store == .memory {
            let (source, target) = (try stores.cache(.memory, for: group), try stores.cache(store, for: group))
            try await verify(copy(group, from: source, to: target), in: target)
        }
        let mark = StoreMark(store: store)
        guard try await inUse.marker.remember(store, for: group) == mark else {
            throw AuthenticationError(.cacheBusy, "Another process has chosen another store meanwhile. Try again.")
        }
        inUse.forget(group)
    }

    /// Removes the copies of an interrupted move, and returns the marker. `nil` if no store was chosen and no tokens are
    /// found.
    private func settledMark(of group: CacheGroup) async throws -> StoreMark? {
        guard let mark = try await inUse.marker.mark(of: group) else {
            guard let found = try await inUse.rememberedOrFound(for: group) else { return nil }
            return try await inUse.marker.remember(found, for: group)
        }
        guard let copies = mark.copies else { return mark }
        // Encrypted copies are removed without their key.
        let isSealed = copies == .encryptedFile || copies.hasKeyFile
        let leftover: any TokenCache = try isSealed ? stores.sealedFiles(of: copies) : stores.cache(copies, for: group)
        try await removeAll(of: group, in: leftover)
        var settled = mark
        settled.copies = nil
        try await inUse.marker.change(mark, to: settled, for: group)
        return settled
    }

    private func copy(
        _ group: CacheGroup,
        from source: any TokenCache,
        to target: any TokenCache
    ) async throws -> [CacheKey: CacheRecord] {
        var copied: [CacheKey: CacheRecord] = [:]
        for kind in DesktopStores.movableKinds {
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
        throw AuthenticationError(.cacheBusy, "Another process changed the sign-ins during the move. Try again.")
    }

    private func verify(_ copied: [CacheKey: CacheRecord], in target: any TokenCache) async throws {
        for (key, record) in copied where try await target.record(for: key) != record {
            throw AuthenticationError(
                .cache,
                "The copy of a sign-in in the new store differs from the original, so nothing was moved. Try again."
            )
        }
    }

    /// Removes the originals. An original that another program changed meanwhile, directly in the old store, stays.
    private func clear(_ copied: [CacheKey: CacheRecord], in source: any TokenCache) async throws {
        for (key, record) in copied { _ = try await source.replace(record, with: nil, for: key) }
    }
}
