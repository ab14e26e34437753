// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTesting
import Testing

@testable import IdentityClient

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
        (.leavesProbes, .writabilityCheck),
    ]

    @Test(.timeLimit(.minutes(1)), arguments: defects)
    func seesEachBrokenPromise(defect: BrokenCache.Defect, rule: Rule) async throws {
        var kit = TokenCacheConformance(isShared: false, costRecords: 2_000) { BrokenCache(defect) }
        kit.patience = .milliseconds(200)
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
}

/// The shortest cache there is.
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
