// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import Testing

@testable import IdentityClient

@Suite struct FileMemoryTests {
    @Test func dropsWhatWasUsedLongestAgo() throws {
        var memory = FileMemory(limit: 10_000)
        let group = try CacheGroup("suite")
        let keys = (0..<10).map { CacheKey(group: group, kind: .account, name: "\($0)") }
        for key in keys.prefix(8) { memory.remember(entry(bytes: 900), for: key) }
        #expect(memory.entry(for: keys[0]) != nil)
        memory.remember(entry(bytes: 900), for: keys[8])
        #expect(memory.entry(for: keys[0]) != nil, "it was used after the others")
        #expect(memory.entry(for: keys[1]) == nil)
        #expect(memory.entry(for: keys[8]) != nil)
        #expect(memory.cost <= 7_500)
    }

    @Test func countsWhatItForgetsAndReplaces() throws {
        var memory = FileMemory(limit: 10_000)
        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
        memory.remember(entry(bytes: 900), for: key)
        let cost = memory.cost
        memory.remember(entry(bytes: 100), for: key)
        #expect(memory.cost == cost - 800)
        memory.forget(key)
        memory.forget(key)
        #expect(memory.cost == 0)
    }

    @Test func forgetsWhatWasAskedForLast() throws {
        var memory = FileMemory(limit: 10_000)
        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
        let (old, new) = (entry(bytes: 900), entry(bytes: 100))
        memory.remember(old, for: key)
        #expect(memory.entry(for: key) === old)
        memory.remember(new, for: key)
        #expect(memory.entry(for: key) === new)
        memory.forget(key)
        #expect(memory.entry(for: key) == nil)
        // A larger record drops it.
        memory.remember(old, for: key)
        #expect(memory.entry(for: key) === old)
        memory.remember(entry(bytes: 9_500), for: CacheKey(group: key.group, kind: .account, name: "b"))
        #expect(memory.entry(for: key) == nil)
    }

    @Test(arguments: [(19, false), (20, true), (-5, false), (3_600_000, true)])
    func trustsOnlyFingerprintsThatNoTickCanHide(milliseconds: Int, settles: Bool) {
        var status = stat()
        status.st_mtim = timespec(tv_sec: 1_000, tv_nsec: 0)
        status.st_ctim = timespec(tv_sec: 2_000, tv_nsec: 0)
        let nanoseconds = 2_000_000_000_000 + milliseconds * 1_000_000
        let now = FileTime(timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000))
        #expect(FileFingerprint(status).isSettled(at: now) == settles)
    }

    @Test(arguments: [Int.min, -1, 0, 10_000_000_000, .max], [Int.min, 0, .max])
    func bearsAnyTimeThatAFileWasStampedWith(_ one: Int, _ other: Int) {
        let (one, other) = (FileTime(timespec(tv_sec: one, tv_nsec: 0)), FileTime(timespec(tv_sec: other, tv_nsec: 0)))
        #expect((one.duration(to: other) > .zero) == (one < other))
    }

    private func entry(bytes: Int) -> FileMemory.Entry {
        let record = CacheRecord(bytes: [UInt8](repeating: 0, count: bytes))
        return FileMemory.Entry(path: "/a", record: record, fingerprint: FileFingerprint(stat()), isSettled: true)
    }

    @Test func aSweepDropsNothingOfWhatIsDecrypted() throws {
        var memory = DecryptedMemory(limit: 10_000)
        let (clear, sealed) = (CacheRecord(bytes: Array(repeating: 1, count: 400)), CacheRecord(bytes: [2]))
        let keys = (0..<20).map { CacheKey(group: .application("client"), kind: .account, name: "\($0)") }
        var known = 0
        for _ in 0..<3 {
            known = keys.count { memory.record(in: sealed, for: $0, counts: false) != nil }
            for key in keys where memory.record(in: sealed, for: key, counts: false) == nil {
                memory.remember(clear, sealed: sealed, for: key, makesRoom: false)
            }
        }
        #expect(known >= 10 && memory.cost <= 10_000)
    }

    /// A sweep reads each record once. It does not displace records in use, and a second sweep finds those that the first left.
    @Test func aSweepDropsNothing() throws {
        var memory = FileMemory(limit: 10_000)
        let group = try CacheGroup("suite")
        let keys = (0..<20).map { CacheKey(group: group, kind: .account, name: "\($0)") }
        memory.remember(entry(bytes: 900), for: keys[0])
        var known = 0
        for round in 0..<3 {
            let before = known
            known = 0
            for key in keys {
                if memory.entry(for: key, counts: false) != nil {
                    known += 1
                } else {
                    memory.remember(entry(bytes: 900), for: key, makesRoom: false)
                }
            }
            #expect(memory.entry(for: keys[0], counts: false) != nil && memory.cost <= 10_000)
            if round > 1 { #expect(known == before && known >= 7) }
        }
    }
}
