// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension KeyringTokenCache {
    func write(_ key: CacheKey, _ expected: CacheRecord?, _ new: CacheRecord?) async throws -> Bool {
        if let new, new.bytes.count > 1 << 20 {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this one has \(new.bytes.count) bytes."
            )
        }
        return try await write(to: key) { collection in
            if self.isKnownToDiffer(key, from: expected) { return false }
            return try await self.underLock(key) { try await $0.replace(expected, with: new, in: collection) }
        }
    }

    /// Sets the item under `key` aside if it is still the same.
    /// - Returns: The name that the person finds the item under.
    func moveAside(_ key: CacheKey, _ isMeant: @escaping @Sendable (FoundItem) -> Bool) async throws -> String {
        try await write(to: key) { collection in
            try await self.underLock(key) { try await $0.moveAside(in: collection, isMeant) }
        }
    }

    /// Does `work` with the open collection, within the time limit of a write. The person is asked while no lock is
    /// held, so that no other process waits for the person as well.
    private func write<Value: Sendable>(
        to key: CacheKey,
        _ work: @escaping @Sendable (_ collection: String) async throws -> Value
    ) async throws -> Value {
        for isLast in [false, true] {
            let collection = try await openCollection(for: key)
            do {
                return try await connector.bounded(by: connector.settings.writeTimeout) {
                    try await self.mutex.withLock(key) { try await work(collection) }
                }
            } catch let obstacle as Obstacle {
                guard !isLast else { throw obstacle.error }
                try await remove(obstacle)
            }
        }
        throw AuthenticationError.keyring(.keyringLocked)
    }

    /// Whether memory already says that a replace will be refused: then neither lock nor keyring is needed.
    private func isKnownToDiffer(_ key: CacheKey, from expected: CacheRecord?) -> Bool {
        guard connector.isListening, let record = memory.record(for: key) else { return false }
        return record != expected
    }

    /// Does `work` while no other process writes to `key`.
    private func underLock<Value: Sendable>(
        _ key: CacheKey,
        _ work: (KeyringWrite) async throws -> Value
    ) async throws -> Value {
        let locks = try place.locks()
        let lock = try await locks.take(for: key)
        defer { lock.end() }
        return try await work(
            KeyringWrite(cache: self, key: key, lock: lock, counter: try await locks.counter(for: key))
        )
    }

    /// The item's name that the person sees.
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
