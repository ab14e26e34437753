// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient

extension KeyringTokenCache {
    /// The link and its default collection, which is open when this returns.
    ///
    /// It has deadlines of its own, one for the keyring and one for the person.
    func openCollection() async throws -> String {
        let (connector, prompter) = (connector, prompter)
        let timeout = connector.settings.readTimeout
        for _ in 0..<2 {
            let (link, collection, isLocked) = try await connector.bounded(by: timeout) {
                try await connector.withLink { link in
                    let collection = try await link.defaultCollection(within: timeout)
                    return (link, collection, try await link.isLocked(collection, within: timeout))
                }
            }
            guard isLocked else {
                prompter.sawUnlocked()
                return collection
            }
            memory.invalidateAll()
            do {
                try await prompter.unlock(collection, with: link, within: timeout)
            } catch {
                throw AuthenticationError.fromKeyring(error)
            }
        }
        throw AuthenticationError.keyring(.keyringLocked)
    }

    func read(_ key: CacheKey) async throws -> CacheRecord? {
        let collection = try await openCollection()
        let timeout = connector.settings.readTimeout
        let counter = try await place.locks().counter(for: key)
        let found = try await connector.bounded(by: timeout) {
            try await self.connector.withLink { link in
                try await self.fetch(key, in: collection, by: link, counter: counter, within: timeout).0
            }
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
        let collection = try await openCollection()
        let timeout = connector.settings.readTimeout
        let locks = try place.locks()
        return try await connector.bounded(by: timeout) {
            try await self.connector.withLink { link in
                let (epoch, counts) = (self.memory.epoch, try await locks.counts(in: group))
                let items = try await link.items(
                    with: KeyringAttributes.kind(kind, in: group),
                    in: collection,
                    within: timeout
                )
                var records: [CacheKey: CacheRecord] = [:]
                for found in items {
                    // What is no record is set aside, and reported, when it is asked for by its key.
                    guard let item = KeyringItem(secret: found.secret), item.kind == kind.rawValue else { continue }
                    let key = CacheKey(group: group, kind: kind, name: item.name)
                    self.memory.note(key, at: found.path)
                    // Of two the first is the one that a lookup finds.
                    if records[key] == nil { records[key] = CacheRecord(bytes: item.bytes) }
                }
                self.memory.remember(records, of: kind, in: group, counts: counts, since: epoch)
                return records
            }
        }
    }

    enum Found: Sendable {
        case absent
        case record(CacheRecord)
        case unreadable(FoundItem)
    }

    /// What lies under `key` now.
    func fetch(
        _ key: CacheKey,
        in collection: String,
        by link: KeyringLink,
        counter: ChangeCounter,
        within timeout: Duration
    ) async throws -> (Found, [FoundItem]) {
        let (epoch, count) = (memory.epoch, counter.value)
        var items = try await link.items(with: KeyringAttributes.record(key), in: collection, within: timeout)
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
            counter: counter,
            count: count,
            since: epoch
        )
        return (.record(record), items)
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

extension KeyringLink {
    /// The program behind the keyring, or `nil` where the system does not tell.
    func provider(within timeout: Duration) async -> String? {
        let process = try? await bus.call(
            "GetConnectionUnixProcessID",
            of: "org.freedesktop.DBus",
            at: "/org/freedesktop/DBus",
            in: "org.freedesktop.DBus",
            "('\(Self.service)',)",
            returning: "(u)",
            timeout: timeout
        )
        guard let number = process?[0]?.uint32 else { return nil }  // a bus that does not tell
        return ProcessName.of(number)
    }
}
