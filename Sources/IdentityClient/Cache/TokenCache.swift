// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A place where credentials rest. Implementations store opaque bytes; the library decides what they mean.
///
/// A cache is used by many tasks at once, and its storage possibly by many processes. It must never wait without a
/// bound: a call ends with a result, an error, or soon after its task was cancelled. Throw
/// `AuthenticationError(.cache, …)` or one of its sub-codes where the storage is unavailable; any other error is
/// wrapped as `.cache`. Prove an implementation with `TokenCacheConformance` of the testing product.
///
/// ```swift
/// while true {
///     let old = try await cache.record(for: key)
///     if try await cache.replace(old, with: changed(old), for: key) { break }
/// }
/// ```
public protocol TokenCache: Sendable {
    /// The record under `key`, or `nil`. One lookup: the cost must not grow with the number of records.
    func record(for key: CacheKey) async throws -> CacheRecord?

    /// Stores `new` under `key` if what is stored is still `expected`, as one indivisible step for every
    /// process that shares the storage. `nil` as `expected` means "if absent", `nil` as `new` means "remove".
    /// - Returns: Whether the record was replaced. `false` is not an error: someone else was first.
    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool

    /// All records of one kind in `group`, in one sweep.
    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord]

    /// Hints that a record changed, from this process or another; `nil` (the default) where the storage cannot tell.
    ///
    /// The library polls as well: a lost hint costs time, never correctness.
    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>?

    /// Finds out whether records of `group` could be written now. It is asked before a person signs in, so that nobody does
    /// so for tokens that cannot be kept; the default believes that they can.
    ///
    /// It stores no record and changes none; whatever it makes to find out has a name of its own, and is gone afterwards. It
    /// asks the person only where writing would: to unlock a keyring, for example.
    /// - Throws: What ``replace(_:with:for:)`` would.
    func checkWritable(in group: CacheGroup) async throws
}

extension TokenCache {
    /// No hints.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        nil
    }

    /// Believes that they can.
    public func checkWritable(in group: CacheGroup) async throws {}
}
