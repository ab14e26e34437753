// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension DesktopTokenCache {
    /// Moves the tokens of `group` to another store: copies them, compares every copy with its original, remembers the
    /// new store, and removes the originals. Where no store was chosen yet, this chooses it; tokens that rest in files or,
    /// where the policy would find them there, in the keyring itself are moved then, too.
    ///
    /// Until all copies are proven the old store is the one in use. A move that was interrupted is done again by calling
    /// this again; what it had left behind is removed then, or by the group's next write. A record of the same name that the new store holds from
    /// earlier is replaced. Writers wait meanwhile, and other programs of the group that use the same directory follow at once.
    /// Refreshes that are under way are waited for, a minute at most.
    ///
    /// The key of encrypted files stays in the keyring: files of the group in another directory may need it. The keyring's
    /// own records are the user's and the group's, and not a directory's: a move out of the keyring takes them from every
    /// directory whose tokens rest there, and one into it that ends half-way removes all that it finds there.
    ///
    /// - Throws: `.invalidArgument` for a store that the policy does not accept, and for memory; `.cacheBusy` when another
    ///   process changes, moves or refreshes the tokens; what the stores throw. Then the old store is still in use.
    ///   `CancellationError`.
    public func move(to store: TokenStore, in group: CacheGroup) async throws {
        guard store != .memory, inUse.policy.accepts(store) else {
            throw AuthenticationError(
                .invalidArgument,
                "Tokens cannot be moved to the store '\(store)': the policy must accept it, and it must last."
            )
        }
        try await move(to: store, in: group, within: .seconds(60))
    }

    /// - Parameter timeout: The longest wait for refreshes.
    private func move(to store: TokenStore, in group: CacheGroup, within timeout: Duration) async throws {
        let locks = try await locksBetweenRefreshes(of: group, within: timeout)
        defer { locks.forEach { $0.end() } }
        if store.needsKeyring { try await stores.requireKeyring() }
        guard let mark = try await settledMark(of: group) else { return try await moveFirst(to: store, in: group) }
        guard mark.store != store else {
            // A request for this store is a choice; before, it was used only because there was no keyring.
            var chosen = mark
            chosen.isFallback = false
            if chosen != mark { try await inUse.marker.change(mark, to: chosen, for: group) }
            return
        }
        let source = try stores.cache(mark.store, for: group)
        let target = try stores.cache(store, for: group)
        var copying = mark
        copying.copies = store
        try await inUse.marker.change(mark, to: copying, for: group)
        let copied: [CacheKey: CacheRecord]
        // Numbers are only compared; one from a damaged marker may be the greatest there is.
        let clearing = StoreMark(store: store, moves: mark.moves &+ 1, copies: mark.store)
        do {
            copied = try await copy(group, from: source, to: target)
            try await verify(copied, in: target)
            try await inUse.marker.change(copying, to: clearing, for: group)
        } catch {
            // The error counts; what cannot be removed now is removed by the next move.
            _ = try? await settledMark(of: group)
            throw error
        }
        inUse.forget(group)
        try await clear(copied, in: source)
        try await inUse.marker.change(clearing, to: StoreMark(store: store, moves: clearing.moves), for: group)
    }

    /// Gives up the tokens of `group` without reading them, for a store whose keyring is gone, and forgets which store it is. The
    /// next sign-in chooses one.
    ///
    /// - Returns: The store that they rested in, and whether they are removed: items of a keyring that cannot be used stay.
    /// - Throws: The errors of the file cache.
    package func discard(_ group: CacheGroup) async throws -> (store: TokenStore?, isRemoved: Bool) {
        let locks = try await stores.moveLocks().takeAll(in: group)
        defer { locks.forEach { $0.end() } }
        let store = try await inUse.remembered(for: group)
        for files in [try stores.sealedFiles(), stores.plain] { try await removeAll(of: group, in: files) }
        var isRemoved = true
        if store == .keyring {
            do {
                try await removeAll(of: group, in: try stores.cache(.keyring, for: group))
            } catch AuthenticationError.cache {
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
    }

    /// Takes all locks of the group at a time when no process refreshes. A refreshing process has a lease in the old
    /// store, which would not be found in the new one. A process that needs a lease has to wait for the lock.
    private func locksBetweenRefreshes(of group: CacheGroup, within timeout: Duration) async throws -> [HeldLock] {
        let clock = ContinuousClock()
        let begin = clock.now
        var seen: [String: ContinuousClock.Instant] = [:]
        while true {
            let locks = try await stores.moveLocks().takeAll(in: group)
            let isBusy = try await leases(of: group).contains { lease in
                let since = seen[lease.nonce] ?? clock.now
                seen[lease.nonce] = since
                return !lease.isOver(seenFor: clock.now - since)
            }
            guard isBusy else { return locks }
            locks.forEach { $0.end() }
            guard clock.now - begin < timeout else {
                throw AuthenticationError(
                    .cacheBusy,
                    "A program is refreshing a token, or cannot store what it got. Try again."
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func leases(of group: CacheGroup) async throws -> [RefreshLease] {
        guard let store = try await inUse.rememberedOrFound(for: group) else { return [] }
        let records = try await stores.cache(store, for: group).records(of: .lease, in: group)
        return records.values.compactMap(RefreshLease.init(decoding:))
    }

    /// Removes the copies that an interrupted move left behind, clear text for example, and moves the tokens to the keyring
    /// if they are elsewhere only because there was none. Tried once by this object: if it fails, the next program tries
    /// again, and no write fails for it.
    func settle(_ group: CacheGroup) async throws {
        guard let mark = try await inUse.marker.mark(of: group), mark.copies != nil || mark.isFallback,
            inUse.isFirstToSettle(group)
        else { return }
        do {
            if let store = StoreChoice.better(than: mark, inUse.policy) {
                try await stores.requireKeyring()  // Before the locks: a keyring that is silent holds up no writer.
                return try await move(to: store, in: group, within: .zero)
            }
            let locks = try await stores.moveLocks().takeAll(in: group)
            defer { locks.forEach { $0.end() } }
            _ = try await settledMark(of: group)
        } catch AuthenticationError.cache {}
    }

    /// Chooses a store where none is remembered; what this object has in memory goes there.
    private func moveFirst(to store: TokenStore, in group: CacheGroup) async throws {
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

    /// Returns the marker after it has removed copies that an interrupted move left behind; `nil` if no store was
    /// chosen and no tokens are found.
    private func settledMark(of group: CacheGroup) async throws -> StoreMark? {
        guard let mark = try await inUse.marker.mark(of: group) else {
            guard let found = try await inUse.rememberedOrFound(for: group) else { return nil }
            return try await inUse.marker.remember(found, for: group)
        }
        guard let copies = mark.copies else { return mark }
        // Encrypted ones are removed without their key.
        let leftover: any TokenCache =
            copies == .encryptedFile ? try stores.sealedFiles() : try stores.cache(copies, for: group)
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

    /// Removes the originals. One that was changed since it was copied, by a program that uses the old store directly, is
    /// left to that program.
    private func clear(_ copied: [CacheKey: CacheRecord], in source: any TokenCache) async throws {
        for (key, record) in copied { _ = try await source.replace(record, with: nil, for: key) }
    }
}
