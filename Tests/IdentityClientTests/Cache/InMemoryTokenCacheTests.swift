// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

@Suite struct InMemoryTokenCacheTests {
    let cache = InMemoryTokenCache()
    let group: CacheGroup
    let other: CacheGroup

    init() throws {
        group = try CacheGroup("group")
        other = try CacheGroup("other")
    }

    @Test(.timeLimit(.minutes(1))) func conforms() async throws {
        try await TokenCacheConformance(isShared: false) { InMemoryTokenCache() }.run()
        let cache = InMemoryTokenCache()
        try await TokenCacheConformance(costRecords: nil) { cache }.run()
    }

    @Test(.timeLimit(.minutes(1))) func tellsEverySubscriberOfItsGroup() async throws {
        var first = try #require(cache.changes(in: group)).makeAsyncIterator()
        var second = try #require(cache.changes(in: group)).makeAsyncIterator()
        try await store("elsewhere", in: other)
        try await store("here", in: group)
        #expect(await first.next() == key("here", group))
        #expect(await second.next() == key("here", group))
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheNewestHintsForASlowReader() async throws {
        var hints = try #require(cache.changes(in: group)).makeAsyncIterator()
        for number in 0..<100 { try await store("\(number)", in: group) }
        for number in 36..<100 { #expect(await hints.next() == key("\(number)", group)) }
    }

    @Test func givesNoHintForARefusedReplace() async throws {
        var hints = try #require(cache.changes(in: group)).makeAsyncIterator()
        #expect(try await cache.replace(CacheRecord(bytes: [1]), with: nil, for: key("absent", group)) == false)
        try await store("present", in: group)
        #expect(await hints.next() == key("present", group))
    }

    @Test(.timeLimit(.minutes(1))) func forgetsAFinishedSubscriber() async throws {
        let reader = Task { [cache, group] in
            guard let hints = cache.changes(in: group) else { return }
            for await _ in hints {}
        }
        #expect(try await eventually { cache.subscriberCount == 1 })
        reader.cancel()
        await reader.value
        #expect(cache.subscriberCount == 0)
        _ = cache.changes(in: group)
        #expect(cache.subscriberCount == 0)
    }

    @Test(.timeLimit(.minutes(1))) func endsTheHintsWhenItIsGone() async throws {
        var cache: InMemoryTokenCache? = InMemoryTokenCache()
        var hints = try #require(cache?.changes(in: group)).makeAsyncIterator()
        cache = nil
        #expect(await hints.next() == nil)
    }

    private func store(_ name: String, in group: CacheGroup) async throws {
        #expect(try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: key(name, group)))
    }

    private func key(_ name: String, _ group: CacheGroup) -> CacheKey {
        CacheKey(group: group, kind: .account, name: name)
    }
}
