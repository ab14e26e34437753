// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension KeyringTokenCache {
    func write(_ key: CacheKey, _ expected: CacheRecord?, _ new: CacheRecord?) async throws -> Bool {
        if let new, new.bytes.count > 1 << 20 {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this record has \(new.bytes.count) bytes."
            )
        }
        let isReplaced = try await write(to: key) {
            // If memory shows that the replace will be refused, neither the lock nor the keyring is needed.
            if self.connector.isListening, let known = self.memory.record(for: key), known != expected { return false }
            return try await self.underLock(key) { try await $0.replace(expected, with: new) }
        }
        if isReplaced, expected == nil, new != nil { await sharing.check(KeyringAttributes.record(key)) }
        return isReplaced
    }

    /// Renames the item under `key`, and removes it from `key`, if it is the item that `isMeant` accepts.
    /// - Returns: The name under which the person finds the item.
    func moveAside(_ key: CacheKey, _ isMeant: @escaping @Sendable (FoundItem) -> Bool) async throws -> String {
        try await write(to: key) {
            try await self.underLock(key) { try await $0.moveAside(isMeant) }
        }
    }

    /// Does `work` within the time limit of a write, while no other task of this cache writes to `key`.
    private func write<Value: Sendable>(
        to key: CacheKey,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // An unresponsive keyring is noticed as soon as by a read, before a lock is taken.
        let connector = connector
        _ = try await connector.bounded(by: connector.settings.readTimeout) { try await connector.link() }
        return try await removingObstacles(within: connector.settings.writeTimeout) {
            try await self.mutex.withLock(key, work)
        }
    }

    /// Does `work` while no other process writes to `key`.
    private func underLock<Value: Sendable>(
        _ key: CacheKey,
        _ work: (KeyringWrite) async throws -> Value
    ) async throws -> Value {
        let locks = try files.locks()
        let lock = try await locks.take(for: key)
        defer { lock.end() }
        return try await work(
            KeyringWrite(cache: self, key: key, lock: lock, counter: try await locks.counter(for: key))
        )
    }

    /// The name of an item, as the person sees it.
    func label(of kind: String) -> String {
        let subject =
            switch kind {
            case CacheKey.Kind.account.rawValue: "sign-in"
            case CacheKey.Kind.application.rawValue: "accounts in use"
            case CacheKey.Kind.provider.rawValue: "provider's description"
            case let kind where kind.hasSuffix("_corrupt"): "damaged sign-in"
            default: kind
            }
        return "\(applicationName) (\(subject))"
    }
}
