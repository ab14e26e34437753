// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// The promises to several callers, and to several caches on one storage.
extension TokenCacheConformance.TestedCache {
    func checkReopening(with second: any TokenCache) async throws {
        let other = through(second)
        try await replace(nil, with: CacheRecord(text: "one"), at: key, "Storing a record in the first cache")
        try await other.expect(CacheRecord(text: "one"), at: key, "In the second cache")
        let listed = try await second.records(of: .account, in: group)
        try expect(listed == [key: CacheRecord(text: "one")], "The second cache listed \(listed.count) records of 1.")
        try await other.replace(
            nil,
            with: CacheRecord(text: "two"),
            at: key,
            succeeds: false,
            "Inserting in the second cache"
        )
        try await other.replace(CacheRecord(text: "one"), with: nil, at: key, "Removing it in the second cache")
        try await expect(nil, at: key, "In the first cache, after that")
    }

    func checkFreshness(with second: any TokenCache) async throws {
        let caches = [self, through(second)]
        var stored: CacheRecord?
        for round in 0..<60 {
            // All records have the same size and follow each other quickly, so only the content differs.
            let new = CacheRecord(text: "round \(100 + round)")
            try await caches[round % 2].replace(stored, with: new, at: key, "Replacing by turns")
            try await caches[1 - round % 2].expect(new, at: key, "Right after another cache had stored it")
            try await caches[round % 2].expect(new, at: key, "Right after it was stored")
            stored = new
        }
    }

    func checkIncrements(with second: any TokenCache) async throws {
        let caches = [self, through(second)]
        try await replace(nil, with: CacheRecord(text: "0"), at: key, "Storing the first number")
        try await withThrowingTaskGroup { group in
            for number in 0..<200 { group.addTask { try await caches[number % 2].increment() } }
            try await group.waitForAll()
        }
        for tested in caches { try await tested.expect(CacheRecord(text: "200"), at: key, "After 200 increments") }
    }

    private func increment() async throws {
        while true {
            try Task.checkCancellation()
            let record = try await cache.record(for: key)
            guard let record, let number = Int(String(decoding: record.bytes, as: UTF8.self)) else {
                throw TokenCacheConformance.Failure(rule, "between increments, the record was gone or no number.")
            }
            if try await cache.replace(record, with: CacheRecord(text: "\(number + 1)"), for: key) { return }
        }
    }

    /// - Parameter report: Called before each step, with the number of records in it.
    func checkFlatCost(records: Int, report: (Int) -> Void) async throws {
        let keys = (0..<10).map { _ in anotherKey() }
        for key in keys { try await replace(nil, with: CacheRecord(text: "few"), at: key, "Storing a record") }
        let costWithFew = try await costOfLookup(of: keys)
        var stored = keys.count
        // A cost that grows shows early, long before the last record of a slow storage is written.
        while stored < records {
            let next = min(records, stored * 3)
            report(next)
            try await fill(from: stored, to: next)
            stored = next
            let limit = costWithFew * 4 + .nanoseconds(500)
            var cost = try await costOfLookup(of: keys)
            // Other work on the machine may disturb some measurements. A cost that has grown does not shrink.
            for _ in 0..<30 where cost >= limit { cost = min(cost, try await costOfLookup(of: keys)) }
            try expect(
                cost < limit,
                "a lookup took \(costWithFew) among 10 records and \(cost) among \(stored)."
            )
        }
    }

    /// Stores records until there are `end`, several at a time.
    private func fill(from start: Int, to end: Int) async throws {
        try await withThrowingTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    for _ in stride(from: start + worker, to: end, by: 16) {
                        try await replace(nil, with: CacheRecord(text: "many"), at: anotherKey(), "Storing a record")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Returns the time of one lookup in the fastest of many rounds, which other work on the machine has disturbed
    /// least.
    private func costOfLookup(of keys: [CacheKey]) async throws -> Duration {
        var best = Duration.seconds(3600)
        let end = ContinuousClock.now + .milliseconds(100)
        while best == .seconds(3600) || ContinuousClock.now < end {
            let start = ContinuousClock.now
            for _ in 0..<5 {
                for key in keys { _ = try await cache.record(for: key) }
            }
            best = min(best, start.duration(to: .now) / (5 * keys.count))
        }
        return best
    }
}

extension TokenCacheConformance {
    func checkCancellation(in tested: TestedCache) async throws {
        let (old, new) = (CacheRecord(text: "old"), CacheRecord(text: "new"))
        try await tested.replace(nil, with: old, at: tested.key, "Storing a record")
        try await bounded(by: timeout, tested.rule) {
            let task = Task {
                try? await Task.sleep(for: .seconds(3600))  // ends when the task is cancelled, and is so from then on
                _ = try await tested.cache.record(for: tested.key)
                _ = try await tested.cache.records(of: .account, in: tested.group)
                _ = try await tested.cache.replace(old, with: new, for: tested.key)
            }
            task.cancel()
            do {
                try await task.value
            } catch is CancellationError {}
        }
        let found = try await tested.cache.record(for: tested.key)
        try tested.expect(
            found == old || found == new,
            "After a cancelled replace, neither the old nor the new was found."
        )
        try await tested.replace(found, with: CacheRecord(text: "next"), at: tested.key, "After a cancelled replace")
    }

    func checkHints(in tested: TestedCache) async throws {
        // A cache may have nothing to watch before its first record.
        let first = CacheRecord(text: "first")
        try await tested.replace(nil, with: first, at: tested.key, "Storing a record")
        guard let hints = tested.cache.changes(in: tested.group) else { return }
        let next = try tested.next()
        try await next.clearing {
            try await next.replace(nil, with: CacheRecord(text: "x"), at: next.key, "Storing in another group")
            try await bounded(by: timeout, tested.rule) {
                try await tested.replace(first, with: CacheRecord(text: "x"), at: tested.key, "Replacing a record")
                try await tested.wait(for: tested.key, in: hints)
            }
        }
    }
}

extension TokenCacheConformance.TestedCache {
    fileprivate func wait(for key: CacheKey, in hints: AsyncStream<CacheKey>) async throws {
        for await hint in hints {
            try expect(hint.group == group, "a hint named a key of another group.")
            if hint == key { return }
        }
        try expect(Task.isCancelled, "the hints ended before they named the key that changed.")
    }
}
