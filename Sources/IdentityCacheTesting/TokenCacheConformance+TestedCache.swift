// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension TokenCacheConformance {
    /// The cache under test, with a cache group that only this check uses.
    struct TestedCache: Sendable {
        let cache: any TokenCache
        let rule: Rule
        let group: CacheGroup
        let key: CacheKey

        /// - Parameter key: The key of the record; a random one by default.
        init(cache: any TokenCache, rule: Rule, group: CacheGroup, key: CacheKey? = nil) {
            self.cache = cache
            self.rule = rule
            self.group = group
            self.key = key ?? Self.randomKey(group)
        }

        static func randomGroup() throws -> CacheGroup {
            try CacheGroup("conformance-" + hexadecimal(.random(in: .min ... .max)))
        }

        static func randomKey(_ group: CacheGroup, kind: CacheKey.Kind = .account) -> CacheKey {
            let name = (0..<4).map { _ in hexadecimal(.random(in: .min ... .max)) }.joined()
            return CacheKey(group: group, kind: kind, name: name)
        }

        private static func hexadecimal(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }

        func anotherKey(kind: CacheKey.Kind = .account) -> CacheKey {
            Self.randomKey(group, kind: kind)
        }

        /// Returns the same group and key, on another cache.
        func through(_ cache: any TokenCache) -> TestedCache {
            TestedCache(cache: cache, rule: rule, group: group, key: key)
        }

        /// Returns the same cache, with another group.
        func next() throws -> TestedCache {
            try TestedCache(cache: cache, rule: rule, group: Self.randomGroup())
        }

        /// Does `work`, then removes the records that it stored in this group, even if it fails.
        func clearing<Value>(_ work: () async throws -> Value) async throws -> Value {
            let value: Value
            do {
                value = try await work()
            } catch {
                try? await clear()  // What the rule found is what matters.
                throw error
            }
            try await clear()
            return value
        }

        /// Runs in its own task, because a cache removes nothing for a cancelled task.
        private func clear() async throws {
            try await Task { try await removeAll() }.value
        }

        /// Removes all records that the rule has stored, several at a time.
        private func removeAll() async throws {
            for kind in [CacheKey.Kind.account, .application, .provider, .lease] {
                let records = Array(try await cache.records(of: kind, in: group))
                try await withThrowingTaskGroup { group in
                    for worker in 0..<16 {
                        group.addTask {
                            for index in stride(from: worker, to: records.count, by: 16) {
                                _ = try await cache.replace(records[index].value, with: nil, for: records[index].key)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
}

extension TokenCacheConformance.TestedCache {
    func expect(_ condition: Bool, _ explanation: @autoclosure () -> String) throws {
        guard condition else { throw TokenCacheConformance.Failure(rule, explanation()) }
    }

    /// Expects the record under `key` to be `record`.
    func expect(_ record: CacheRecord?, at key: CacheKey, _ moment: String) async throws {
        let found = try await cache.record(for: key)
        try expect(found == record, "\(moment), \(Self.text(found)) was found and not \(Self.text(record)).")
    }

    /// Replaces a record, and checks whether the cache accepts or refuses it as expected.
    func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        at key: CacheKey,
        succeeds: Bool = true,
        _ moment: String
    ) async throws {
        let replaced = try await cache.replace(expected, with: new, for: key)
        try expect(replaced == succeeds, "\(moment), replace returned \(replaced).")
    }

    /// Describes a test record, which holds no secrets.
    private static func text(_ record: CacheRecord?) -> String {
        guard let bytes = record?.bytes else { return "nothing" }
        return bytes.count > 32 ? "a record of \(bytes.count) bytes" : "'\(String(decoding: bytes, as: UTF8.self))'"
    }
}

extension CacheRecord {
    /// Creates a test record.
    init(text: String) {
        self.init(bytes: Array(text.utf8))
    }
}
