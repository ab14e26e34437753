// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension KeyringTokenCache {
    /// The path of the default collection, which is open when this returns.
    func openCollection() async throws -> String {
        try await inOpenCollection { _, collection, isSeenOpen in isSeenOpen ? collection : nil }
    }

    /// Looks into the default collection, within the time limit of a read.
    /// - Parameter look: As in ``KeyringLink/look(within:_:)``.
    func inOpenCollection<Value: Sendable>(
        _ look: @escaping @Sendable (KeyringLink, String, _ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Value {
        let (connector, timeout) = (connector, connector.settings.readTimeout)
        return try await removingObstacles(within: timeout) {
            try await connector.withLink { link in
                try await link.look(within: timeout) { try await look(link, $0, $1) }
            }
        }
    }

    /// Does `work`, and repeats it if an obstacle stopped it and the person, or the keyring by itself, has removed the
    /// obstacle. Twice, because locked items may follow a locked collection. No lock is held while the person is asked.
    ///
    /// - Parameter timeout: The time limit of each attempt. The person has a deadline of their own.
    func removingObstacles<Value: Sendable>(
        within timeout: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        for isLast in [false, false, true] {
            do {
                let value = try await connector.bounded(by: timeout, work)
                prompter.noteUnlocked()
                return value
            } catch let obstacle as Obstacle {
                memory.invalidate()
                guard !isLast else { throw obstacle.error }
                try await remove(obstacle)
            }
        }
        throw AuthenticationError.keyring(.keyringLocked)
    }

    /// Removes an obstacle, within the time limit of a read and the person's deadline.
    private func remove(_ obstacle: Obstacle) async throws {
        let (connector, prompter, timeout) = (connector, prompter, connector.settings.readTimeout)
        // The keyring may have ended since, and a new one that does not answer may have its name.
        let link = try await connector.bounded(by: timeout) { try await connector.link() }
        try await connector.bounded(by: timeout + (prompter.deadline ?? .zero)) {
            try await prompter.remove(obstacle, with: link, within: timeout)
        }
    }

    func read(_ key: CacheKey) async throws -> CacheRecord? {
        let (files, timeout) = (files, connector.settings.readTimeout)
        // The first call searches for the files, while the link is opened.
        let counter = Task { try await files.locks().counter(for: key) }
        let (found, _) = try await inOpenCollection { link, collection, isSeenOpen in
            try await self.fetch(
                key,
                in: collection,
                isSeenOpen: isSeenOpen,
                by: link,
                counter: try await counter.value,
                within: timeout
            )
        }
        switch found {
        case .record(let record): return record
        case .absent: return nil
        case .unreadable where key.kind == .encryptionKey: throw AuthenticationError.keyringKeyDamaged
        case .unreadable(let item):
            let label = try await moveAside(key) { $0 == item }
            throw AuthenticationError(
                .cacheCorrupt,
                "An item of the keyring is not a valid record. It was renamed to \(label). Other accounts are not "
                    + "affected. Sign in again."
            )
        }
    }

    func readAll(_ kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if connector.isListening, let records = memory.records(of: kind, in: group) { return records }
        let (files, timeout) = (files, connector.settings.readTimeout)
        let listing = try await inOpenCollection { link, collection, isSeenOpen -> Listing? in
            let (epoch, counts) = (self.memory.epoch, try await files.locks().counts(in: group))
            guard
                let items = try await link.items(
                    with: KeyringAttributes.kind(kind, in: group),
                    in: collection,
                    isSeenOpen: isSeenOpen,
                    within: timeout
                )
            else { return nil }
            let listing = try await self.listing(of: items, kind, in: group, by: link, within: timeout)
            if listing.damaged.isEmpty {
                self.memory.remember(listing.records, of: kind, in: group, counts: counts, since: epoch)
            }
            return listing
        }
        for damaged in listing.damaged { try await setAside(damaged.item, of: damaged.key) }
        return listing.records.mapValues(\.record)
    }

    /// The records of a listing with their paths; one that two items have has no path. And the items that are no records, with
    /// the keys by which they are found.
    private struct Listing: Sendable {
        var records: [CacheKey: (record: CacheRecord, path: String?)] = [:]
        var damaged: [(item: FoundItem, key: CacheKey)] = []
    }

    /// A record counts under the name by which a reader finds its item. The name in the secret may be damaged, or come with a copy
    /// that was made by hand.
    private func listing(
        of items: [FoundItem],
        _ kind: CacheKey.Kind,
        in group: CacheGroup,
        by link: KeyringLink,
        within timeout: Duration
    ) async throws -> Listing {
        var listing = Listing()
        for found in items {
            let item = KeyringItem(secret: found.secret)
            let own = item.map { CacheKey(group: group, kind: CacheKey.Kind(rawValue: $0.kind), name: $0.name) }
            // A known key is one that a look-up, or the item's attributes, have confirmed.
            if own == nil || memory.key(at: found.path) != own {
                guard let key = try await link.key(of: found.path, in: [group], within: timeout) else { continue }
                guard key == own else {
                    try await link.confirm(found, within: timeout)
                    listing.damaged.append((found, key))
                    continue
                }
                memory.note(key, at: found.path)
            }
            guard let item, let own else { continue }
            // A lookup by key finds out which of two items is newer.
            let first = listing.records[own]
            listing.records[own] = first.map { ($0.record, nil) } ?? (CacheRecord(bytes: item.bytes), found.path)
        }
        return listing
    }

    /// Renames an item of a listing that is not a record, and warns. The listing counts without it.
    private func setAside(_ item: FoundItem, of key: CacheKey) async throws {
        var outcome: String
        do {
            outcome = "It was renamed to \(try await moveAside(key) { $0 == item })."
        } catch let error as AuthenticationError {
            outcome = "It could not be renamed: \(error.message)"
        }
        sharing.warn(
            "An item of the keyring is not a valid record. \(outcome) If an account is missing now, sign in again; other "
                + "accounts are not affected."
        )
    }

    enum Found: Sendable {
        case absent
        case record(CacheRecord)
        case unreadable(FoundItem)
    }

    /// Reads the item under `key`.
    /// - Returns: `nil` if the collection was not seen open and nothing certain was found.
    func fetch(
        _ key: CacheKey,
        in collection: String,
        isSeenOpen: Bool,
        by link: KeyringLink,
        counter: ChangeCounter,
        within timeout: Duration
    ) async throws -> (Found, [FoundItem])? {
        let start = memory.beginRead(counter)
        let items: [FoundItem]
        if let known = try await knownItem(of: key, in: collection, by: link, within: timeout) {
            items = [known]
        } else {
            let attributes = KeyringAttributes.record(key)
            guard
                let found = try await link.items(
                    with: attributes,
                    in: collection,
                    isSeenOpen: isSeenOpen,
                    within: timeout
                )
            else { return nil }
            items = found.count > 1 ? try await newestFirst(found, by: link, within: timeout) : found
        }
        guard let first = items.first, let item = KeyringItem(secret: first.secret), item.belongs(to: key) else {
            memory.forget(key)
            guard let first = items.first else { return (.absent, items) }
            try await link.confirm(first, within: timeout)
            return (.unreadable(first), items)
        }
        let record = CacheRecord(bytes: item.bytes)
        let isOnly = items.count == 1
        return (.record(memory.remember(record, for: key, at: first.path, isOnly: isOnly, since: start)), items)
    }

    /// Reads the only item of `key` at its known path. That takes one call instead of two, and an item that is still
    /// there shows that the collection is open. Signals of an added or removed item arrive before the answer.
    private func knownItem(
        of key: CacheKey,
        in collection: String,
        by link: KeyringLink,
        within timeout: Duration
    ) async throws -> FoundItem? {
        guard let path = memory.path(of: key), path.hasPrefix(collection + "/") else { return nil }
        if let found = try await link.item(at: path, within: timeout),
            KeyringItem(secret: found.secret)?.belongs(to: key) == true, memory.path(of: key) == path
        {
            return found
        }
        memory.forgetPath(of: key)
        return nil
    }

    /// Sorts items of one key, which some keyrings have duplicated. The item that was changed last is valid.
    private func newestFirst(
        _ items: [FoundItem],
        by link: KeyringLink,
        within timeout: Duration
    ) async throws -> [FoundItem] {
        var dated: [(FoundItem, UInt64)] = []
        for item in items { dated.append((item, try await link.modified(item.path, within: timeout))) }
        return dated.sorted { $0.1 > $1.1 }.map(\.0)
    }
}
