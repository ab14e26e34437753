// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct LeaseWaitTests {
    private let key: CacheKey

    init() throws {
        key = CacheKey(group: try CacheGroup("group"), kind: .lease, name: "name")
    }

    @Test(
        arguments: [
            (0, 0, false, 5), (1, 5, false, 10), (2, 15, false, 20), (9, 1900, false, 20), (100, 2100, false, 200),
            (0, 0, true, 40), (9, 1900, true, 40), (100, 2100, true, 200),
        ] as [(Int, Int, Bool, Int)]
    )
    func looksLessOftenAsTimeGoesOn(_ count: Int, elapsed: Int, hasHints: Bool, milliseconds: Int) {
        let pause = LeaseWait.maximumPause(count, after: .milliseconds(elapsed), hasHints: hasHints)
        #expect(pause == .milliseconds(milliseconds))
    }

    @Test func aChangeEndsOnePause() async throws {
        let cache = HintingCache()
        let wait = LeaseWait(for: [key], in: cache)
        cache.tell(key)
        #expect(try await wait.pause() == .hint)
        #expect(try await wait.pause() == .time, "each hint ends one pause")
    }

    @Test func aChangeOfAnotherRecordEndsNoPause() async throws {
        let cache = HintingCache()
        let wait = LeaseWait(for: [key], in: cache)
        cache.tell(CacheKey(group: key.group, kind: .account, name: "another"))
        #expect(try await wait.pause() == .time)
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let wait = LeaseWait(for: [key], in: InMemoryTokenCache())
        let task = Task {
            while true { _ = try await wait.pause() }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

/// A cache in memory whose hints come from the test.
private final class HintingCache: TokenCache {
    private let base = InMemoryTokenCache()
    private let listeners = Shared([AsyncStream<CacheKey>.Continuation]())

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await base.replace(expected, with: new, for: key)
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        let (stream, listener) = AsyncStream.makeStream(of: CacheKey.self)
        listeners.withLock { $0.append(listener) }
        return stream
    }

    func tell(_ key: CacheKey) {
        for listener in listeners.value { listener.yield(key) }
    }
}
