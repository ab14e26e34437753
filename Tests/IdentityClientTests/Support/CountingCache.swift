// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport

/// Counts calls, and fails or refuses if a test says so.
final class CountingCache: TokenCache {
    struct State: Sendable {
        var reads = 0
        var writes = 0
        var sweeps = 0
        var readFailure: (any Error)?
        var writeFailure: (any Error)?
        var refusesWrites = false
    }

    let storage = InMemoryTokenCache()
    let state = Shared(State())

    func record(for key: CacheKey) async throws -> CacheRecord? {
        if let failure = state.withLock({ state in
            state.reads += 1
            return state.readFailure
        }) {
            throw failure
        }
        return try await storage.record(for: key)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let state = state.withLock { state in
            state.writes += 1
            return state
        }
        if let failure = state.writeFailure { throw failure }
        return state.refusesWrites ? false : try await storage.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if let failure = state.withLock({ state in
            state.sweeps += 1
            return state.readFailure
        }) {
            throw failure
        }
        return try await storage.records(of: kind, in: group)
    }
}

/// Sets damaged records aside.
final class KeepingCache: CorruptRecordKeeping {
    let storage = InMemoryTokenCache()
    let kept = Shared<[CacheRecord]>([])

    func record(for key: CacheKey) async throws -> CacheRecord? { try await storage.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await storage.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await storage.records(of: kind, in: group)
    }

    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        guard try await storage.replace(record, with: nil, for: key) else {
            throw AuthenticationError(.cacheBusy, "changed")
        }
        kept.withLock { $0.append(record) }
        return "elsewhere"
    }
}
