// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A cache that keeps credentials in this process only: all accounts are signed out when the program ends.
///
/// It suits services and tests. Every instance has its own records. No call waits, throws or leaves the caller's
/// thread; a lookup costs the same for one account and for ten thousand.
///
/// ```swift
/// let configuration = ClientConfiguration(
///     clientID: "test-client",
///     authority: authority,
///     cache: InMemoryTokenCache()
/// )
/// ```
public final class InMemoryTokenCache: TokenCache {
    private let state = Mutex(State())

    /// Creates an empty cache.
    public init() {}

    deinit {
        let subscribers = state.withLock { $0.subscribers }
        for (_, continuation) in subscribers.values { continuation.finish() }
    }

    /// Returns the record under `key`, or `nil`. Never throws.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        state.withLock { $0.shelves[Shelf(key)]?[key] }
    }

    /// Stores `new` if the stored record is still `expected`. Never throws.
    /// - Returns: Whether the record was replaced.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        let (replaced, listeners) = state.withLock { state in
            let shelf = Shelf(key)
            guard state.shelves[shelf]?[key] == expected else { return (false, [Listener]()) }
            state.shelves[shelf, default: [:]][key] = new
            return (true, state.listeners(to: key.group))
        }
        for listener in listeners { listener.yield(key) }
        return replaced
    }

    /// Returns all records of one kind in `group`, without copying them. Never throws.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        state.withLock { $0.shelves[Shelf(group: group, kind: kind)] ?? [:] }
    }

    /// Returns the keys in `group` that change from now on. A reader that falls behind gets the newest 64.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        let (stream, continuation) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLock { $0.add(continuation, to: group) }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: number) }
        }
        return stream
    }
}

extension InMemoryTokenCache {
    private typealias Listener = AsyncStream<CacheKey>.Continuation

    /// The number of open streams of hints; finished streams do not count.
    var subscriberCount: Int {
        state.withLock { $0.subscribers.count }
    }

    /// The number of records in all groups.
    package var recordCount: Int {
        state.withLock { $0.shelves.values.reduce(0) { $0 + $1.count } }
    }

    /// The group and kind that a listing names. The records of a shelf are stored together, so that a listing is one
    /// lookup.
    private struct Shelf: Hashable {
        let group: CacheGroup
        let kind: CacheKey.Kind

        init(group: CacheGroup, kind: CacheKey.Kind) {
            self.group = group
            self.kind = kind
        }

        init(_ key: CacheKey) {
            self.init(group: key.group, kind: key.kind)
        }

        /// Hashes the group alone, because a group has few kinds.
        func hash(into hasher: inout Hasher) {
            hasher.combine(group)
        }
    }

    private struct State {
        var shelves: [Shelf: [CacheKey: CacheRecord]] = [:]
        var subscribers: [Int: (group: CacheGroup, continuation: Listener)] = [:]
        private var lastSubscriber = 0

        mutating func add(_ continuation: Listener, to group: CacheGroup) -> Int {
            lastSubscriber += 1
            subscribers[lastSubscriber] = (group, continuation)
            return lastSubscriber
        }

        func listeners(to group: CacheGroup) -> [Listener] {
            subscribers.isEmpty ? [] : subscribers.values.filter { $0.group == group }.map(\.continuation)
        }
    }
}
