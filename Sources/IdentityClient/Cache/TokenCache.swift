// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A store for credentials. Implementations store opaque bytes; the library decides what they mean.
///
/// Many tasks use a cache at once, and possibly many processes use its storage. A cache must never wait without a
/// bound: a call ends with a result, with an error, or soon after its task was cancelled. Throw
/// `AuthenticationError(.cache, …)` or one of its sub-codes if the storage is unavailable; any other error is wrapped
/// as `.cache`. Test an implementation with `TokenCacheConformance` of the testing product.
///
/// ```swift
/// while true {
///     let old = try await cache.record(for: key)
///     if try await cache.replace(old, with: changed(old), for: key) { break }
/// }
/// ```
public protocol TokenCache: Sendable {
    /// Returns the record under `key`, or `nil`. One lookup: the cost must not grow with the number of records.
    func record(for key: CacheKey) async throws -> CacheRecord?

    /// Stores `new` under `key` if the stored record is still `expected`, as one indivisible step for every process
    /// that shares the storage. `nil` as `expected` means "if absent"; `nil` as `new` means "remove".
    /// - Returns: Whether the record was replaced. `false` is not an error: another writer was first.
    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool

    /// Returns all records of one kind in `group`, in one sweep.
    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord]

    /// Returns the keys of records that change, in this process or another, as hints; `nil` (the default) if the
    /// storage cannot tell.
    ///
    /// The library also polls: a lost hint costs time, never correctness.
    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>?

    /// Checks whether records of `group` could be written now. The library calls it before a person signs in, so that
    /// no sign-in is wasted on tokens that cannot be stored. The default does nothing.
    ///
    /// It stores and changes no record. Anything it creates for the check has a name of its own and is removed
    /// afterwards. It involves the person only if writing would: to unlock a keyring, for example.
    /// - Throws: The errors of ``replace(_:with:for:)``.
    func checkWritable(in group: CacheGroup) async throws

    /// Reserves what the next write of the record under `key` needs: room for `bytes` bytes, a lock that is free, a
    /// keyring that is open and answers. The library calls it before it sends a refresh token, because a provider that
    /// rotates refresh tokens has spent the old one when the new one arrives. If this call throws, nothing is sent.
    ///
    /// The next ``replace(_:with:for:)`` under `key` by the same cache uses what was reserved. A longer record, and a
    /// write after that, are written as without a reservation. A reservation must not keep other writers from any
    /// record, because it lasts as long as a request: check that a lock is free, and give it back.
    ///
    /// The default calls ``checkWritable(in:)`` and returns `nil`. A cache around another cache passes the call on.
    /// - Returns: The reservation, which the caller releases; `nil` if there is nothing to give back.
    /// - Throws: The errors of ``replace(_:with:for:)``. Then nothing is reserved.
    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)?
}

/// Room and other means that a cache keeps ready for one write.
///
/// ```swift
/// let reservation = try await cache.reserve(16_384, for: key)
/// _ = try await cache.replace(old, with: new, for: key)
/// await reservation?.release()
/// ```
public protocol TokenCacheReservation: AnyObject, Sendable {
    /// Gives back what no write has used. Further calls do nothing.
    ///
    /// A reservation that is dropped gives back the same by itself; one of a process that died is given back by the
    /// system, or by the next process.
    func release() async
}

extension TokenCache {
    /// Returns `nil`: no hints.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        nil
    }

    /// Does nothing: records are assumed to be writable.
    public func checkWritable(in group: CacheGroup) async throws {}

    /// Calls ``checkWritable(in:)``, and reserves nothing.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        try await checkWritable(in: key.group)
        return nil
    }
}

/// A cache that can set an unreadable record aside and keep it for inspection.
package protocol CorruptRecordKeeping: TokenCache {
    /// Whether the cache can do so. A cache around another cache returns that cache's value. The default is `true`.
    var keepsCorruptRecords: Bool { get }

    /// Moves `record` away from `key` and keeps it, if the storage outlasts the program.
    ///
    /// - Returns: The record's new location, for the report; `nil` if it was not kept.
    /// - Throws: `.cacheBusy` when another record is stored under `key` meanwhile: read it again. `.cache` and its
    ///   other second levels when the storage fails.
    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String?
}

extension CorruptRecordKeeping {
    package var keepsCorruptRecords: Bool { true }
}
