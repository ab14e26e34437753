// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension KeyringTokenCache {
    /// The default collection, which is open when this returns.
    /// - Parameter key: Whose item is looked at next: where its place is known, that will say so.
    func openCollection(for key: CacheKey? = nil) async throws -> String {
        let place = key.flatMap(memory.place)
        return try await inOpenCollection { _, collection, isSeenOpen in
            isSeenOpen || place?.hasPrefix(collection + "/") == true ? collection : nil
        }
    }

    /// Looks into the default collection, and has it unlocked where it is not open.
    ///
    /// It has deadlines of its own, one for the keyring and one for the person.
    /// - Parameter look: As in ``KeyringLink/look(within:_:)``.
    private func inOpenCollection<Value: Sendable>(
        _ look: @escaping @Sendable (KeyringLink, String, _ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Value {
        let (connector, timeout) = (connector, connector.settings.readTimeout)
        for _ in 0..<2 {
            let result = try await connector.bounded(by: timeout) {
                try await connector.withLink { link in
                    try await link.look(within: timeout) { try await look(link, $0, $1) }
                }
            }
            switch result {
            case .found(let value):
                prompter.sawUnlocked()
                return value
            case .stopped(let obstacle):
                memory.invalidateAll()
                try await remove(obstacle)
            }
        }
        throw AuthenticationError.keyring(.keyringLocked)
    }

    /// Asks the person to remove what stands before the secrets.
    func remove(_ obstacle: Obstacle) async throws {
        do {
            try await prompter.remove(obstacle, with: connector.link(), within: connector.settings.readTimeout)
        } catch {
            throw AuthenticationError.fromKeyring(error)
        }
    }

    func read(_ key: CacheKey) async throws -> CacheRecord? {
        let (place, timeout) = (place, connector.settings.readTimeout)
        // Beside the connecting: finding the files for the first time takes a while, too.
        let counter = Task { try await place.locks().counter(for: key) }
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
        case .unreadable(let item):
            let place = try await moveAside(key) { $0 == item }
            throw AuthenticationError(
                .cacheCorrupt,
                "An item of the keyring is not the record that it should be. It was set aside as \(place). Other "
                    + "accounts are not affected."
            )
        }
    }

    func readAll(_ kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if connector.isListening, let records = memory.records(of: kind, in: group) { return records }
        let (place, timeout) = (place, connector.settings.readTimeout)
        return try await inOpenCollection { link, collection, isSeenOpen in
            let (epoch, counts) = (self.memory.epoch, try await place.locks().counts(in: group))
            guard
                let items = try await link.items(
                    with: KeyringAttributes.kind(kind, in: group),
                    in: collection,
                    isSeenOpen: isSeenOpen,
                    within: timeout
                )
            else { return nil }
            let records = self.records(kind, in: group, items)
            self.memory.remember(records, of: kind, in: group, counts: counts, since: epoch)
            return records.mapValues(\.record)
        }
    }

    /// The records among `items`, and where they are; no path where there are two.
    private func records(
        _ kind: CacheKey.Kind,
        in group: CacheGroup,
        _ items: [FoundItem]
    ) -> [CacheKey: (record: CacheRecord, path: String?)] {
        var records: [CacheKey: (record: CacheRecord, path: String?)] = [:]
        for found in items {
            // What is no record is set aside, and reported, when it is asked for by its key.
            guard let item = KeyringItem(secret: found.secret), item.kind == kind.rawValue else { continue }
            let key = CacheKey(group: group, kind: kind, name: item.name)
            memory.note(key, at: found.path)
            // Of two, a lookup finds out which one is right.
            if let first = records[key] {
                records[key] = (first.record, nil)
            } else {
                records[key] = (CacheRecord(bytes: item.bytes), found.path)
            }
        }
        return records
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
        let (epoch, count) = (memory.epoch, counter.value)
        if let (item, found) = try await lookInPlace(key, in: collection, by: link, within: timeout) {
            let record = memory.remember(
                CacheRecord(bytes: item.bytes),
                for: key,
                at: found.path,
                isAlone: true,
                counter: counter,
                count: count,
                since: epoch
            )
            return (.record(record), [found])
        }
        guard
            var items = try await link.items(
                with: KeyringAttributes.record(key),
                in: collection,
                isSeenOpen: isSeenOpen,
                within: timeout
            )
        else { return nil }
        if items.count > 1 { items = try await newestFirst(items, by: link, within: timeout) }
        guard let found = items.first else {
            memory.forget(key)
            return (.absent, [])
        }
        guard let item = KeyringItem(secret: found.secret), item.belongs(to: key) else {
            memory.forget(key)
            return (.unreadable(found), items)
        }
        let record = memory.remember(
            CacheRecord(bytes: item.bytes),
            for: key,
            at: found.path,
            isAlone: items.count == 1,
            counter: counter,
            count: count,
            since: epoch
        )
        return (.record(record), items)
    }

    /// Looks where the item of `key` was last found as the only one. That takes one call instead of two, and an item
    /// that is still there shows that the collection is open. Signals of an added or removed item arrive before the
    /// answer.
    private func lookInPlace(
        _ key: CacheKey,
        in collection: String,
        by link: KeyringLink,
        within timeout: Duration
    ) async throws -> (KeyringItem, FoundItem)? {
        guard let path = memory.place(of: key), path.hasPrefix(collection + "/") else { return nil }
        if let found = try await link.item(at: path, within: timeout), let item = KeyringItem(secret: found.secret),
            item.belongs(to: key), memory.place(of: key) == path
        {
            return (item, found)
        }
        memory.forgetPlace(of: key)
        return nil
    }

    /// Some keyrings have made two items of one; the one that was changed last is right.
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
