// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient

/// One change of one record, while its lock is held.
struct KeyringWrite {
    let cache: KeyringTokenCache
    let key: CacheKey
    let lock: HeldLock
    let counter: ChangeCounter

    private var timeout: Duration { cache.connector.settings.writeTimeout }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, in collection: String) async throws -> Bool {
        /// Whether a change of ours was sent, and its answer was lost.
        var isUnsure = false
        let isReplaced = try await cache.connector.withLink { link in
            let (current, items) = try await current(in: collection, by: link)
            if isUnsure, current == new { return true }
            guard current == expected else { return false }
            guard current != nil || new != nil else { return true }
            isUnsure = true
            // What somebody removed meanwhile is not what was expected.
            guard try await change(items, to: new, in: collection, by: link) else { return false }
            let (kept, _) = try await self.current(in: collection, by: link)
            guard kept == new else {
                throw AuthenticationError(
                    .cache,
                    "The keyring said that it had stored the sign-in, and then did not have it. Try again."
                )
            }
            return true
        }
        // It has answered last: what somebody sent before who died is done, too.
        lock.endChange()
        return isReplaced
    }

    func moveAside(in collection: String, _ isMeant: (FoundItem) -> Bool) async throws -> String {
        try await cache.connector.withLink { link in
            let items = try await link.look(into: collection, within: timeout) { isSeenOpen in
                try await link.items(
                    with: KeyringAttributes.record(key),
                    in: collection,
                    isSeenOpen: isSeenOpen,
                    within: timeout
                )
            }
            guard let item = items.first(where: isMeant) else {
                throw AuthenticationError(.cacheBusy, "The item of the keyring was changed meanwhile. Read it again.")
            }
            return try await moveAside(item, in: collection, by: link)
        }
    }

    /// Returns the stored record. Sets aside an item that is not a record.
    private func current(
        in collection: String,
        by link: KeyringLink
    ) async throws -> (CacheRecord?, [FoundItem]) {
        let (found, items) = try await link.look(into: collection, within: timeout) { isSeenOpen in
            try await cache.fetch(
                key,
                in: collection,
                isSeenOpen: isSeenOpen,
                by: link,
                counter: counter,
                within: timeout
            )
        }
        switch found {
        case .record(let record): return (record, items)
        case .absent: return (nil, items)
        case .unreadable(let item):
            _ = try await moveAside(item, in: collection, by: link)
            return (nil, items.filter { $0 != item })
        }
    }

    /// Makes a change. If it fails, the keyring may make it later nevertheless, and tell nobody: then it counts as under
    /// way until the next one under this lock.
    /// - Returns: Whether there was still something to change.
    private func change(
        _ items: [FoundItem],
        to new: CacheRecord?,
        in collection: String,
        by link: KeyringLink
    ) async throws -> Bool {
        let inside = items.filter { $0.path.hasPrefix(collection + "/") }
        let isInPlace = new != nil && !inside.isEmpty ? await link.replacesInPlace(within: timeout) : false
        // Who was cancelled while that was asked has no answer.
        try Task.checkCancellation()
        try begin()
        if isInPlace, let new, let first = inside.first {
            guard try await set(KeyringItem(new, for: key).secret, of: first, by: link) else { return false }
            for item in items where !inside.contains(item) { try await remove(item, by: link) }
            // Before the others are told: who looks while the change is under way remembers nothing.
            lock.endChange()
            await cache.place.hint(at: key)
            return true
        }
        defer { cache.memory.forgetPlace(of: key) }
        if let new {
            try await store(
                KeyringItem(new, for: key).secret,
                as: key,
                label: cache.label(of: key.kind.rawValue),
                in: collection,
                by: link
            )
        }
        for item in items where new == nil || !inside.contains(item) { try await remove(item, by: link) }
        // The keyring's own signal tells the others. What is read next, to see that it is there, is remembered.
        lock.endChange()
        return true
    }

    /// To be done before a change is sent: who sends it may die before it is answered.
    private func begin() throws {
        try lock.beginChange()
        cache.memory.forget(key)
    }

    /// - Returns: Whether the item was still there.
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

    /// Waits for the keyring's answer or the time limit, even if the task is cancelled, because no other process may
    /// have the lock before that. The caller does not wait for it.
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

    private func remove(_ item: FoundItem, by link: KeyringLink) async throws {
        let timeout = timeout
        do {
            try await Task { try await link.delete(item.path, within: timeout) }.value
        } catch let failure as GLibFailure where KeyringProblem(failure) == .noSuchObject {
            // It is gone: that is what was wanted.
        }
    }
}
