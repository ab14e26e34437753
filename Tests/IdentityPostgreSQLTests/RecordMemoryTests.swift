// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import IdentityPostgreSQL

/// When a record of memory counts as the stored one.
@Suite struct RecordMemoryTests {
    private let memory = RecordMemory()
    private let begin = ContinuousClock.now
    private let key: CacheKey
    private let stored = RecordMemory.Stored(record: CacheRecord("one"), write: [1])

    init() throws {
        key = try randomKey()
        memory.hear([key.group])
        memory.trust(until: begin + .seconds(1000))
    }

    private var lease: CacheKey { CacheKey(group: key.group, kind: .lease, name: key.name) }

    /// Reads the record, which takes no time.
    private func read(_ found: RecordMemory.Stored?, at seconds: Int) {
        memory.end(memory.begin(key), found, at: begin + .seconds(seconds))
    }

    private func isCurrent(at seconds: Int) -> Bool {
        if case .current = memory.knowledge(of: key, at: begin + .seconds(seconds)) { true } else { false }
    }

    private func isKnown(at seconds: Int) -> Bool {
        if case .nothing = memory.knowledge(of: key, at: begin + .seconds(seconds)) { false } else { true }
    }

    @Test func countsOnceItHasNotChangedForASecond() {
        read(stored, at: 0)
        #expect(!isCurrent(at: 0) && isKnown(at: 0))
        read(stored, at: 1)
        #expect(isCurrent(at: 1))
        read(RecordMemory.Stored(record: CacheRecord("two"), write: [2]), at: 5)
        #expect(!isCurrent(at: 5))
    }

    @Test func isReadAgainAfterThirtySecondsAndForgottenAfterFiveMinutes() {
        read(stored, at: 0)
        read(stored, at: 1)
        #expect(isCurrent(at: 30) && !isCurrent(at: 31) && isKnown(at: 300) && !isKnown(at: 301))
    }

    @Test func endsWithAnotherWriteAndNotWithItsOwn() {
        read(stored, at: 0)
        read(stored, at: 1)
        memory.receive(key, write: [1])
        #expect(isCurrent(at: 1))
        memory.receive(key, write: [2])
        #expect(!isKnown(at: 1))
    }

    @Test(arguments: [([UInt8]([1]), true), ([2], false), ([], false)])
    func knowsWhatWasToldDuringARead(_ write: [UInt8], _ counts: Bool) {
        read(stored, at: 0)
        let access = memory.begin(key)
        memory.receive(key, write: write)
        #expect(memory.end(access, stored, at: begin + .seconds(1)) == stored.record)
        #expect(isKnown(at: 1) == counts)
    }

    @Test func neverCountsWhileThereIsALease() {
        read(stored, at: 0)
        read(stored, at: 1)
        memory.note(lease: lease, isThere: true, at: begin + .seconds(1))
        read(stored, at: 2)
        read(stored, at: 4)
        #expect(!isKnown(at: 4))
        memory.note(lease: lease, isThere: false, at: begin + .seconds(4))
        #expect(!isKnown(at: 4))
        read(stored, at: 5)
        read(stored, at: 6)
        #expect(isCurrent(at: 6))
    }

    @Test func doesNotKeepAReadFromBeforeTheLease() {
        let access = memory.begin(key)
        memory.note(lease: lease, isThere: true, at: begin)
        memory.note(lease: lease, isThere: false, at: begin)
        memory.end(access, stored, at: begin)
        #expect(!isKnown(at: 0))
    }

    @Test func endsWithTheConnectionThatTells() {
        read(stored, at: 0)
        read(stored, at: 1)
        memory.endSession()
        memory.hear([key.group])
        memory.trust(until: begin + .seconds(1000))
        #expect(!isCurrent(at: 1) && isKnown(at: 1))
        read(stored, at: 2)
        #expect(isCurrent(at: 2))
    }

    @Test func endsWithTheTimeOfTheLastAnswer() {
        read(stored, at: 0)
        read(stored, at: 1)
        memory.trust(until: begin + .seconds(3))
        #expect(isCurrent(at: 2) && !isCurrent(at: 3))
    }

    @Test func keepsOthersRecordsOutOfMemory() throws {
        let other = try randomKey()
        for seconds in [0, 1, 2] { memory.end(memory.begin(other), stored, at: begin + .seconds(seconds)) }
        guard case .old = memory.knowledge(of: other, at: begin + .seconds(2)) else {
            Issue.record("a record counts though its group is not heard")
            return
        }
    }
}
