// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import Synchronization

/// A cache that breaks one rule of the protocol.
final class BrokenCache: TokenCache {
    enum Defect: String, CaseIterable, Sendable {
        case inventsRecords, forgetsGroup, forgetsKind, insertsOverRecord, storesWhatItRefuses, comparesAddresses
        case refusesSameAgain, emptiesInsteadOfRemoving, removesUnasked, listsFirstPage, listsAllKinds, dropsEmpty,
            truncates
        case remembersTooLong, readsThenWrites, locksInOneInstanceOnly, hangsWhenCancelled, staysSilent,
            namesOtherGroups
        case scansAll, throwsAlways, leavesProbes, reservesByRecord
    }

    struct Unavailable: Error {}

    private let defect: Defect
    private let storage: InMemoryTokenCache
    private let owner = Mutex<Int?>(nil)
    private let remembered = Mutex<[CacheKey: CacheRecord]>([:])

    init(_ defect: Defect, on storage: InMemoryTokenCache = InMemoryTokenCache()) {
        self.defect = defect
        self.storage = storage
    }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        let record = try await storage.record(for: translated(key))
        switch defect {
        case .inventsRecords: return record ?? CacheRecord(bytes: [])
        case .remembersTooLong:
            return remembered.withLock { remembered in
                if let old = remembered[key] { return old }
                remembered[key] = record
                return record
            }
        case .hangsWhenCancelled where Task.isCancelled:
            await Task { try? await Task.sleep(for: .seconds(3600)) }.value
            return record
        case .scansAll:
            let all = try await storage.records(of: key.kind, in: key.group)
            return all.first { $0.key.name.elementsEqual(key.name) }?.value
        case .throwsAlways: throw Unavailable()
        default: return record
        }
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let key = translated(key)
        let current = try await storage.record(for: key)
        switch defect {
        case .insertsOverRecord where expected == nil && new != nil:
            return try await storage.replace(current, with: new, for: key)
        case .storesWhatItRefuses where current != expected:
            _ = try await storage.replace(current, with: new, for: key)
            return false
        case .comparesAddresses where address(current) != address(expected): return false
        case .refusesSameAgain where expected == new && expected != nil: return false
        case .emptiesInsteadOfRemoving where new == nil && expected != nil:
            return try await storage.replace(expected, with: CacheRecord(bytes: []), for: key)
        case .removesUnasked where new == nil: return try await storage.replace(current, with: nil, for: key)
        case .dropsEmpty where new?.bytes.isEmpty == true:
            return try await storage.replace(expected, with: nil, for: key)
        case .truncates:
            let kept = new.map { CacheRecord(bytes: Array($0.bytes.prefix(65_536))) }
            return try await storage.replace(expected, with: kept, for: key)
        case .remembersTooLong:
            let replaced = try await storage.replace(expected, with: new, for: key)
            if replaced { remembered.withLock { $0[key] = new } }
            return replaced
        case .readsThenWrites, .locksInOneInstanceOnly:
            return try await replaceInTwoSteps(expected, with: new, for: key)
        default: return try await storage.replace(expected, with: new, for: key)
        }
    }

    /// Compares first and stores later, as if no other writer could intervene.
    private func replaceInTwoSteps(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws
        -> Bool
    {
        let turn = Int.random(in: 0..<Int.max)
        if defect == .locksInOneInstanceOnly {
            while !claim(turn) { await Task.yield() }
        }
        defer { if defect == .locksInOneInstanceOnly { owner.withLock { $0 = nil } } }
        guard try await storage.record(for: key) == expected else { return false }
        for _ in 0..<3 { await Task.yield() }
        let current = try await storage.record(for: key)
        _ = try await storage.replace(current, with: new, for: key)
        return true
    }

    private func claim(_ turn: Int) -> Bool {
        owner.withLock { owner in
            if owner == nil { owner = turn }
            return owner == turn
        }
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var records = try await storage.records(of: kind, in: group)
        if defect == .listsFirstPage { return Dictionary(uniqueKeysWithValues: records.prefix(10).map { ($0, $1) }) }
        if defect == .listsAllKinds {
            for other in [CacheKey.Kind.account, .application, .lease] {
                records.merge(try await storage.records(of: other, in: group)) { $1 }
            }
        }
        return records
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        switch defect {
        case .staysSilent: AsyncStream.makeStream(of: CacheKey.self).stream
        case .namesOtherGroups:
            (try? CacheGroup("other")).map { other in
                AsyncStream { $0.yield(CacheKey(group: other, kind: .account, name: "0")) }
            }
        default: nil
        }
    }

    func checkWritable(in group: CacheGroup) async throws {
        guard defect == .leavesProbes else { return }
        let probe = CacheKey(group: group, kind: .lease, name: "probe")
        _ = try await storage.replace(nil, with: CacheRecord(bytes: []), for: probe)
    }

    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        guard defect == .reservesByRecord else { return nil }
        let place = CacheKey(group: key.group, kind: .lease, name: "reserved")
        _ = try await storage.replace(nil, with: CacheRecord(bytes: []), for: place)
        return nil
    }

    private func translated(_ key: CacheKey) -> CacheKey {
        switch defect {
        case .forgetsKind: CacheKey(group: key.group, kind: .account, name: key.name)
        case .forgetsGroup:
            (try? CacheGroup("all")).map { CacheKey(group: $0, kind: key.kind, name: key.name) } ?? key
        default: key
        }
    }

    private func address(_ record: CacheRecord?) -> Int? {
        guard let record else { return nil }
        return unsafe record.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }
}
