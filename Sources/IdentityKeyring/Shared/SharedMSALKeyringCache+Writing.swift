// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

extension SharedMSALKeyringCache {
    /// Changes one account in the item, if it is still `expected`.
    ///
    /// - Returns: Whether it was.
    func change(
        _ key: CacheKey,
        _ expected: CacheRecord?,
        _ new: AccountCredentials?,
        under signal: MSALSignal
    ) async throws -> Bool {
        try await underLock(signal) { lock in
            /// The secret that was sent. If the answer was lost, the next link finds it.
            var sent: [UInt8]?
            return try await self.keyring.connector.withLink { link in
                let (collection, found) = try await self.only(link)
                if let sent, found?.secret == sent { return true }
                let old = try self.parsed(found?.secret)
                guard let content = try old.replacing(expected, with: new, for: key) else { return false }
                guard content.secret != old.secret else { return true }
                try await lock.announce()
                sent = content.secret
                try await self.store(content.secret, over: found, in: collection, by: link)
                guard try await self.only(link).item?.secret == content.secret else {
                    throw AuthenticationError(
                        .cacheBusy,
                        "The keyring item is not what was just stored: another program writes it without the lock. Try again."
                    )
                }
                return true
            }
        }
    }

    /// Finds out whether the item could be changed.
    func check(_ signal: MSALSignal) async throws {
        try await underLock(signal) { _ in
            try await self.keyring.connector.withLink { link in
                try self.parsed(try await self.only(link).item?.secret).checkMayBeWritten()
            }
        }
    }

    /// Does `work` under the lock, within the time limit of a write. A cancelled caller does not wait for the keyring's answer, but the
    /// lock is held until it comes, because no other program may write before.
    private func underLock<Value: Sendable>(
        _ signal: MSALSignal,
        _ work: @escaping @Sendable (HeldMSALLock) async throws -> Value
    ) async throws -> Value {
        // A person unlocks the keyring before the lock is taken: other programs wait for it for five seconds.
        _ = try await read()
        let lock = try await signal.lock(within: lockTimeout, on: queue)
        let (connector, result) = (keyring.connector, Promise<Value>())
        Task {
            let outcome: Result<Value, any Error>
            do {
                let value = try await connector.bounded(by: connector.settings.writeTimeout) { try await work(lock) }
                outcome = .success(value)
            } catch {
                outcome = .failure((error as? Obstacle)?.error ?? error)
            }
            await lock.end()
            result.finish(outcome)
        }
        return try await result.value()
    }

    /// Returns the item; `nil` if there is none.
    /// - Throws: `.cache` if there are several, because programs may choose different ones; ``Obstacle``.
    private func only(_ link: KeyringLink) async throws -> (collection: String, item: FoundItem?) {
        let timeout = keyring.connector.settings.writeTimeout
        let (collection, items) = try await link.look(within: timeout) { collection, isSeenOpen in
            try await link.items(with: item.query, in: collection, isSeenOpen: isSeenOpen, within: timeout).map {
                (collection, $0)
            }
        }
        guard items.count <= 1 else {
            throw AuthenticationError(
                .cache,
                "The keyring has \(items.count) items with these attributes, so that nothing is written. Name all attributes of one, "
                    + "or remove the others in \"Passwords and Keys\"."
            )
        }
        return (collection, items.first)
    }

    /// Stores a secret. An item that exists is changed in place: it keeps its label and its other attributes.
    private func store(
        _ secret: [UInt8],
        over found: FoundItem?,
        in collection: String,
        by link: KeyringLink
    ) async throws {
        let timeout = keyring.connector.settings.writeTimeout
        if let found {
            try await link.set(secret, of: found.path, within: timeout)
        } else {
            try await link.create(secret, label: item.label, attributes: item.query, in: collection, within: timeout)
        }
    }
}

extension KeyringTokenCache {
    /// Returns another program's item; `nil` if there is none. Of several the newest counts.
    ///
    /// - Throws: As ``record(for:)``.
    func newest(of item: MSALKeyringItem) async throws -> FoundItem? {
        let timeout = connector.settings.readTimeout
        return try await inOpenCollection { link, collection, isSeenOpen in
            let items = try await link.items(
                with: item.query,
                in: collection,
                isSeenOpen: isSeenOpen,
                within: timeout
            )
            guard let items, items.count > 1 else { return items.map(\.first) }
            var newest: (item: FoundItem, modified: UInt64)?
            for found in items {
                let modified = try await link.modified(found.path, within: timeout)
                if newest.map({ $0.modified < modified }) ?? true { newest = (found, modified) }
            }
            return .some(newest?.item)
        }
    }
}
