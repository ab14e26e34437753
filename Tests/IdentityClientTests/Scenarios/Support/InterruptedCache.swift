// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport

/// A cache in memory in which other work runs between a read and a write.
///
/// It reacts to cancellation. As with a keyring, a write continues without its caller.
final class InterruptedCache: TokenCache {
    typealias Interruption = @Sendable () async throws -> Void

    let storage = InMemoryTokenCache()
    private let interruption = Shared<(kind: CacheKey.Kind, work: Interruption)?>(nil)
    private let aftermath = Shared<(kind: CacheKey.Kind, work: Interruption)?>(nil)

    /// Runs `work` just before the next write of a record of `kind`.
    func beforeNextWrite(of kind: CacheKey.Kind, _ work: @escaping Interruption) {
        interruption.withLock { $0 = (kind, work) }
    }

    /// Runs `work` just after the next write of a record of `kind`, before the write is reported.
    func afterNextWrite(of kind: CacheKey.Kind, _ work: @escaping Interruption) {
        aftermath.withLock { $0 = (kind, work) }
    }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        try Task.checkCancellation()
        return try await storage.record(for: key)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try Task.checkCancellation()
        if let interruption = interruption.value, interruption.kind == key.kind {
            self.interruption.withLock { $0 = nil }
            try await interruption.work()
        }
        let isReplaced = try await storage.replace(expected, with: new, for: key)
        if let aftermath = aftermath.value, aftermath.kind == key.kind {
            self.aftermath.withLock { $0 = nil }
            try await aftermath.work()
        }
        try Task.checkCancellation()
        return isReplaced
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try Task.checkCancellation()
        return try await storage.records(of: kind, in: group)
    }
}
