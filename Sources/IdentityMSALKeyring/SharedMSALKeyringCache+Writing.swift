// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
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
            return try await self.withItem { item in
                let found = try await item.find()
                if let sent = item.sentSecret, found.secret == sent { return true }
                let old = try self.parsed(found.secret)
                guard let content = try old.replacing(expected, with: new, for: key) else { return false }
                guard content.secret != old.secret else { return true }
                try await lock.announce()
                try await item.store(content.secret, over: found)
                guard try await item.find().secret == content.secret else {
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
            try await self.withItem { try self.parsed(try await $0.find().secret).checkMayBeWritten() }
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
        let result = Promise<Value>()
        Task {
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await work(lock))
            } catch {
                outcome = .failure(error)
            }
            await lock.end()
            result.finish(outcome)
        }
        return try await result.value()
    }

    private func withItem<Value: Sendable>(
        _ work: @escaping @Sendable (ForeignItem) async throws -> Value
    ) async throws -> Value {
        try await keyring.withForeignItem(label: item.label, attributes: item.query, work)
    }
}
