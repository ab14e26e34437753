// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Synchronization
import SystemSupport
import Testing

@Suite struct TokenCacheConformanceTests {
    typealias Rule = TokenCacheConformance.Rule

    static let defects: [(BrokenCache.Defect, Rule)] = [
        (.inventsRecords, .absence), (.forgetsKind, .roundTrip), (.forgetsGroup, .roundTrip),
        (.insertsOverRecord, .insertIfAbsent), (.storesWhatItRefuses, .refusedReplace),
        (.comparesAddresses, .comparesContent), (.refusesSameAgain, .comparesContent),
        (.emptiesInsteadOfRemoving, .removal), (.removesUnasked, .removal), (.listsFirstPage, .listing),
        (.listsAllKinds, .listing), (.dropsEmpty, .emptyRecord), (.truncates, .largeRecords),
        (.readsThenWrites, .increments), (.hangsWhenCancelled, .cancellation), (.staysSilent, .hints),
        (.namesOtherGroups, .hints), (.scansAll, .flatCost), (.throwsAlways, .absence),
        (.leavesProbes, .writabilityCheck), (.reservesByRecord, .reservation),
    ]

    @Test(.timeLimit(.minutes(1)), arguments: defects)
    func seesEachBrokenPromise(defect: BrokenCache.Defect, rule: Rule) async throws {
        var kit = TokenCacheConformance(isShared: false, costRecords: 2_000) { BrokenCache(defect) }
        kit.timeout = .milliseconds(200)
        let failure = await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(rule) }
        #expect(failure?.rule == rule)
        #expect(failure?.description.hasPrefix(rule.rawValue) == true)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (BrokenCache.Defect.remembersTooLong, Rule.freshness), (.locksInOneInstanceOnly, .sharedIncrements),
        ]
    )
    func seesWhatOnlyTwoCachesShow(defect: BrokenCache.Defect, rule: Rule) async throws {
        let storage = InMemoryTokenCache()
        let kit = TokenCacheConformance { BrokenCache(defect, on: storage) }
        let failure = await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(rule) }
        #expect(failure?.rule == rule)
    }

    @Test func seesThatPrivateCachesAreNotShared() async throws {
        let kit = TokenCacheConformance { InMemoryTokenCache() }
        let failure = await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(.twoInstances) }
        #expect(failure?.rule == .twoInstances)
    }

    @Test func findsNoFaultWithOneInstanceThatLocksItself() async throws {
        let storage = InMemoryTokenCache()
        try await TokenCacheConformance { BrokenCache(.locksInOneInstanceOnly, on: storage) }.run(.increments)
    }

    @Test func everyRuleHasADefectThatBreaksIt() {
        let broken = Set(Self.defects.map(\.1)).union([.freshness, .sharedIncrements, .twoInstances])
        #expect(broken == Set(Rule.all))
    }

    @Test func runsAgainstTheCacheThatTheGuideShows() async throws {
        try await TokenCacheConformance(isShared: false, costRecords: nil) { DictionaryCache() }.run()
    }

    @Test(.timeLimit(.minutes(1))) func leavesNothingBehind() async throws {
        let storage = InMemoryTokenCache()
        try await TokenCacheConformance(costRecords: 20) { storage }.run()
        #expect(storage.recordCount == 0)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [(BrokenCache.Defect.staysSilent, Rule.hints), (.listsAllKinds, .listing)]
    )
    func leavesNothingBehindOfARuleThatIsBroken(defect: BrokenCache.Defect, rule: Rule) async throws {
        let storage = InMemoryTokenCache()
        var kit = TokenCacheConformance { BrokenCache(defect, on: storage) }
        kit.timeout = .milliseconds(100)
        await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(rule) }
        #expect(storage.recordCount == 0)
    }

    /// Writing 10,000 records into slow storage takes minutes.
    @Test(.timeLimit(.minutes(1))) func stopsAtTheFirstStepThatShowsAGrowingCost() async throws {
        let written = Mutex(0)
        let kit = TokenCacheConformance(isShared: false) {
            CountingCache(BrokenCache(.scansAll)) { written.withLock { $0 += 1 } }
        }
        let failure = await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(.flatCost) }
        #expect(failure?.rule == .flatCost)
        // The records are written and removed.
        #expect(written.withLock { $0 } < 2 * 1_000)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhatItIsChecking() async throws {
        let lines = Mutex<[String]>([])
        var kit = TokenCacheConformance(isShared: false, costRecords: 50) { InMemoryTokenCache() }
        kit.reportDelay = .zero
        kit.report = { line in lines.withLock { $0.append(line) } }
        try await kit.run(.flatCost)
        let steps = lines.withLock { $0 }.filter { !$0.hasPrefix("Still") }
        #expect(steps == [30, 50].map { "The cost of a lookup among \($0) records." })
        var slow = TokenCacheConformance { FullCache(InMemoryTokenCache()) }
        slow.reportDelay = .milliseconds(1)
        slow.timeLimit = .milliseconds(200)
        slow.report = kit.report
        await #expect(throws: TokenCacheConformance.Failure.self) { try await slow.run(.flatCost) }
        #expect(lines.withLock { $0 }.contains { $0.hasPrefix("Still checking: \(Rule.flatCost)") })
    }

    @Test(.timeLimit(.minutes(1))) func leavesNothingBehindOfARuleThatTakesTooLong() async throws {
        let storage = InMemoryTokenCache()
        var kit = TokenCacheConformance { FullCache(storage) }
        kit.timeLimit = .milliseconds(200)
        let failure = await #expect(throws: TokenCacheConformance.Failure.self) { try await kit.run(.flatCost) }
        #expect(failure?.explanation == "it took longer than 2.0 seconds.")
        #expect(storage.recordCount == 0)
    }

    @Test(.timeLimit(.minutes(1))) func leavesNothingBehindOfARuleThatIsCancelled() async throws {
        let storage = InMemoryTokenCache()
        let kit = TokenCacheConformance { FullCache(storage) }
        let run = Task { try await kit.run(.flatCost) }
        while storage.recordCount < 10 { await Task.yield() }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(storage.recordCount == 0)
    }
}

/// A cache that tells of each write.
private struct CountingCache: TokenCache {
    private let base: any TokenCache
    private let tell: @Sendable () -> Void

    init(_ base: any TokenCache, _ tell: @escaping @Sendable () -> Void) { (self.base, self.tell) = (base, tell) }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        tell()
        return try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }
}

/// A cache that holds ten records at most: the next write waits until its task is cancelled. Nothing is done for a
/// cancelled task.
private struct FullCache: TokenCache {
    private let base: InMemoryTokenCache

    init(_ base: InMemoryTokenCache) { self.base = base }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        try Task.checkCancellation()
        return try await base.record(for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try Task.checkCancellation()
        return try await base.records(of: kind, in: group)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        if new != nil, base.recordCount >= 10 { try await Promise<Void>().value() }
        try Task.checkCancellation()
        return try await base.replace(expected, with: new, for: key)
    }
}

/// The shortest possible cache.
private actor DictionaryCache: TokenCache {
    private var records: [CacheKey: CacheRecord] = [:]

    func record(for key: CacheKey) -> CacheRecord? { records[key] }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) -> [CacheKey: CacheRecord] {
        records.filter { $0.key.group == group && $0.key.kind == kind }
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) -> Bool {
        guard records[key] == expected else { return false }
        records[key] = new
        return true
    }
}
