// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTelemetry

/// A cache whose calls are measured.
struct MeasuredTokenCache: TokenCache, CorruptRecordKeeping, LeaseLocking {
    let base: any TokenCache
    let telemetry: (any Telemetry)?

    func record(for key: CacheKey) async throws -> CacheRecord? {
        try await telemetry.observe(.cacheRead, completion: Completion.of) { try await base.record(for: key) }
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await telemetry.observe(.cacheWrite, completion: Completion.of) {
            try await base.replace(expected, with: new, for: key)
        }
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await telemetry.observe(.cacheRead, completion: Completion.of) {
            try await base.records(of: kind, in: group)
        }
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? { base.changes(in: group) }

    func checkWritable(in group: CacheGroup) async throws { try await base.checkWritable(in: group) }

    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        try await base.reserve(bytes, for: key)
    }

    func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await telemetry.observe(.cacheWrite, completion: Completion.of) {
            try await base.storeLease(over: expected, with: lease, for: key)
        }
    }

    func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await base.findLeaseLock(lease, for: key)
    }

    var keepsCorruptRecords: Bool { (base as? any CorruptRecordKeeping)?.keepsCorruptRecords ?? false }

    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        try await (base as? any CorruptRecordKeeping)?.setAside(key, record: record)
    }
}
