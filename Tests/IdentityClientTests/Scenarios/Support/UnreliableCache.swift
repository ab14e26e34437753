// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import Synchronization

/// A cache in memory that fails on demand, like a full disk or a locked keyring.
final class UnreliableCache: TokenCache {
    struct Failure: Error {}

    private let storage: InMemoryTokenCache
    private let refusals = Mutex((reads: false, writes: Set<CacheKey.Kind>(), count: 0))
    private let behaviour = Mutex<(failure: any Error, doesAllTheSame: Bool)>((Failure(), false))
    private let reservations = Mutex(false)

    init(_ storage: InMemoryTokenCache = InMemoryTokenCache()) {
        self.storage = storage
    }

    /// Whether all reads fail.
    var refusesReads: Bool {
        get { refusals.withLock { $0.reads } }
        set { refusals.withLock { $0.reads = newValue } }
    }

    /// The kinds of records that cannot be written.
    var refusedWrites: Set<CacheKey.Kind> {
        get { refusals.withLock { $0.writes } }
        set { refusals.withLock { $0.writes = newValue } }
    }

    /// The error of a refused write.
    var writeFailure: any Error {
        get { behaviour.withLock { $0.failure } }
        set { behaviour.withLock { $0.failure = newValue } }
    }

    /// Whether a refused write is done all the same, as by a keyring that answers too late.
    var doesWhatItRefuses: Bool {
        get { behaviour.withLock { $0.doesAllTheSame } }
        set { behaviour.withLock { $0.doesAllTheSame = newValue } }
    }

    /// Whether no write can be reserved.
    var refusesReservations: Bool {
        get { reservations.withLock(\.self) }
        set { reservations.withLock { $0 = newValue } }
    }

    /// The number of refused writes.
    var refusalCount: Int { refusals.withLock { $0.count } }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        if refusesReads { throw Failure() }
        return try await storage.record(for: key)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let isRefused = refusals.withLock { refusals in
            if refusals.writes.contains(key.kind) { refusals.count += 1 }
            return refusals.writes.contains(key.kind)
        }
        if isRefused {
            if doesWhatItRefuses { _ = try await storage.replace(expected, with: new, for: key) }
            throw writeFailure
        }
        return try await storage.replace(expected, with: new, for: key)
    }

    func checkWritable(in group: CacheGroup) async throws {
        if refusedWrites.contains(.account) { throw Failure() }
    }

    /// Refuses nothing unless told, so that a test can let a write fail after the request.
    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        if refusesReservations { throw writeFailure }
        return nil
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if refusesReads { throw Failure() }
        return try await storage.records(of: kind, in: group)
    }
}
