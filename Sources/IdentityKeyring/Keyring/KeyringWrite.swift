// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import SystemSupport

/// One change of one record, while its lock is held.
struct KeyringWrite {
    let cache: KeyringTokenCache
    let key: CacheKey
    let lock: HeldLock
    let counter: ChangeCounter

    /// The state of the key's items before the change.
    private struct Current {
        let collection: String
        let record: CacheRecord?
        let items: [FoundItem]
    }

    private var timeout: Duration { cache.connector.settings.writeTimeout }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?) async throws -> Bool {
        /// Whether a change of ours was sent and its answer was lost.
        var isUnsure = false
        let isReplaced = try await cache.connector.withLink { link in
            let current = try await current(by: link)
            if isUnsure, current.record == new { return true }
            guard current.record == expected else { return false }
            guard current.record != nil || new != nil else { return true }
            isUnsure = true
            // An item that another program removed meanwhile is not the expected one.
            guard try await change(current, to: new, by: link) else { return false }
            guard try await self.current(by: link).record == new else {
                throw AuthenticationError(
                    .cache,
                    "The keyring reported that it had stored the sign-in, but does not have it. Try again."
                )
            }
            return true
        }
        // The keyring's answer shows that it has also handled an earlier change whose writer died.
        lock.endChange()
        return isReplaced
    }

    func moveAside(_ isMeant: (FoundItem) -> Bool) async throws -> String {
        try await cache.connector.withLink { link in
            let (collection, items) = try await link.look(within: timeout) { collection, isSeenOpen in
                try await link.items(
                    with: KeyringAttributes.record(key),
                    in: collection,
                    isSeenOpen: isSeenOpen,
                    within: timeout
                ).map { (collection, $0) }
            }
            guard let item = items.first(where: isMeant) else {
                throw AuthenticationError(.cacheBusy, "The item of the keyring was changed meanwhile. Read it again.")
            }
            return try await moveAside(item, in: collection, by: link)
        }
    }

    /// Reads the stored record. Renames an item that is not a record.
    private func current(by link: KeyringLink) async throws -> Current {
        let timeout = timeout
        let (collection, found, items) = try await link.look(within: timeout) { collection, isSeenOpen in
            try await cache.fetch(
                key,
                in: collection,
                isSeenOpen: isSeenOpen,
                by: link,
                counter: counter,
                within: timeout
            ).map { (collection, $0.0, $0.1) }
        }
        switch found {
        case .record(let record): return Current(collection: collection, record: record, items: items)
        case .absent: return Current(collection: collection, record: nil, items: items)
        case .unreadable where key.kind == .encryptionKey: throw AuthenticationError.keyringKeyDamaged
        case .unreadable(let item):
            _ = try await moveAside(item, in: collection, by: link)
            return Current(collection: collection, record: nil, items: items.filter { $0 != item })
        }
    }

    /// Makes a change. If it fails, the keyring may still make it later, without a notice. So it counts as under way
    /// until the next change under this lock.
    /// - Returns: Whether the item that was changed still existed.
    private func change(_ current: Current, to new: CacheRecord?, by link: KeyringLink) async throws -> Bool {
        let inside = current.items.filter { $0.path.hasPrefix(current.collection + "/") }
        let outside = current.items.filter { !inside.contains($0) }
        let isInPlace = new != nil && !inside.isEmpty ? await link.replacesInPlace(within: timeout) : false
        // A cancelled task has no answer to that question.
        try Task.checkCancellation()
        try begin()
        if isInPlace, let new, let first = inside.first {
            guard try await set(KeyringItem(new, for: key).secret, of: first, by: link) else { return false }
            for item in outside { try await remove(item, by: link) }
            // First the number, then the hint: a reader remembers nothing while a change is under way.
            lock.endChange()
            await cache.files.hint(at: key)
            return true
        }
        defer { cache.memory.forgetPath(of: key) }
        if let new {
            try await store(
                KeyringItem(new, for: key).secret,
                as: key,
                label: cache.label(of: key.kind.rawValue),
                in: current.collection,
                by: link
            )
        }
        for item in new == nil ? current.items : outside { try await remove(item, by: link) }
        // The keyring's own signal tells the other readers. The read that checks the change may be remembered.
        lock.endChange()
        return true
    }

    /// Announces the change before it is sent, because this process may die before the answer.
    private func begin() throws {
        try lock.beginChange()
        cache.memory.forget(key)
    }

    /// Writes an item's secret in place.
    /// - Returns: Whether the item still existed.
    private func set(_ secret: [UInt8], of item: FoundItem, by link: KeyringLink) async throws -> Bool {
        let timeout = timeout
        do {
            try await Task { try await link.set(secret, of: item.path, within: timeout) }.value
            return true
        } catch let failure as GLibFailure where KeyringProblem(failure) == .noSuchObject {
            return false
        }
    }

    private func moveAside(
        _ item: FoundItem,
        in collection: String,
        by link: KeyringLink
    ) async throws -> String {
        try begin()
        let aside = CacheKey(
            group: key.group,
            kind: CacheKey.Kind(rawValue: key.kind.rawValue + "_corrupt"),
            name: "\(key.name)-\(Int(Date.now.timeIntervalSince1970))"
        )
        let label = cache.label(of: aside.kind.rawValue)
        try await store(item.secret, as: aside, label: label, in: collection, by: link)
        try await remove(item, by: link)
        lock.endChange()
        return "\"\(label)\""
    }

    /// Stores a new item. Waits for the keyring's answer or the time limit even if the task is cancelled, because no other
    /// process may have the lock before that. The caller does not wait for it.
    private func store(
        _ secret: [UInt8],
        as key: CacheKey,
        label: String,
        in collection: String,
        by link: KeyringLink
    ) async throws {
        let timeout = timeout
        try await Task {
            try await withDeadline(timeout) {
                try await link.create(
                    secret,
                    label: label,
                    attributes: KeyringAttributes.record(key),
                    in: collection,
                    within: timeout
                )
            }
        }.value
    }

    /// Removes an item. An item that is gone already counts as removed.
    private func remove(_ item: FoundItem, by link: KeyringLink) async throws {
        let timeout = timeout
        do {
            try await Task { try await link.delete(item.path, within: timeout) }.value
        } catch let failure as GLibFailure where KeyringProblem(failure) == .noSuchObject {}
    }
}
