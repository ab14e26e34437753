// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite struct SharedLocksTests {
    let directory: TemporaryDirectory
    let key: CacheKey
    /// Two sets of locks, as two processes have them.
    let ours: SharedLocks
    let theirs: SharedLocks

    init() throws {
        directory = try TemporaryDirectory()
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
        ours = SharedLocks(directory: "\(directory.path)/locks", timeout: .seconds(5))
        theirs = SharedLocks(directory: "\(directory.path)/locks", timeout: .seconds(5))
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfAChangeFromItsBeginningToItsEnd() async throws {
        // The first caller creates the file.
        let counter = try await ours.counter(for: key)
        let before = try #require(counter.value)
        let counts = try await ours.counts(in: key.group)
        let lock = try await theirs.take(for: key)
        #expect(counter.value == before)
        #expect(counts.areCurrent)
        try lock.beginChange()
        #expect(counter.value == nil)
        #expect(!counts.areCurrent)
        lock.endChange()
        lock.end()
        #expect(try #require(counter.value) > before)
        #expect(!counts.areCurrent)
    }

    @Test(.timeLimit(.minutes(1))) func goesOnTellingWhereAWriterDied() async throws {
        let counter = try await ours.counter(for: key)
        let before = try #require(counter.value)
        let dead = try await theirs.take(for: key)
        try dead.beginChange()
        dead.end()
        #expect(counter.value == nil)
        #expect(try await !ours.counts(in: key.group).areCurrent)
        let next = try await ours.take(for: key)
        try next.beginChange()
        #expect(counter.value == nil)
        next.endChange()
        #expect(try #require(counter.value) > before)
        #expect(try await ours.counts(in: key.group).areCurrent)
        // No work is in progress.
        let after = counter.value
        next.endChange()
        #expect(counter.value == after)
    }

    @Test(.timeLimit(.minutes(1))) func tellsNothingFromAFileThatWasRemoved() async throws {
        let (counter, counts) = (try await ours.counter(for: key), try await ours.counts(in: key.group))
        let lock = try await theirs.take(for: key)
        try FileManager.default.removeItem(atPath: "\(directory.path)/locks/suite")
        #expect(counter.value == nil)
        #expect(!counts.areCurrent)
        let error = #expect(throws: AuthenticationError.self) { try lock.beginChange() }
        #expect(error?.code == .cacheBusy)
        #expect(try await ours.counter(for: key).value != nil)
    }

    @Test(.timeLimit(.minutes(1))) func beginsNoChangeThatItCannotTellOf() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let locks = SharedLocks(directory: directory.path, timeout: .seconds(5))
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
            let lock = try await locks.take(for: key)
            var limit = rlimit()
            _ = unsafe getrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
            var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
            _ = unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &none)
            let error = #expect(throws: AuthenticationError.self) { try lock.beginChange() }
            _ = unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
            #expect(error?.code == .cacheFull)
            #expect(try await locks.counter(for: key).value == 0)
        }
    }

    /// A lock file larger than any record may be.
    @Test(.timeLimit(.minutes(1))) func countsOnWhereManyHaveChangedSomething() async throws {
        let counter = try await ours.counter(for: key)
        let lock = try await theirs.take(for: key)
        let name = ".lock-\(FileCacheName.stripe("account-a.json"))"
        try CallFailed.check(unsafe truncate("\(directory.path)/locks/suite/\(name)", 4 << 20), "truncate")
        try lock.beginChange()
        lock.endChange()
        lock.end()
        #expect(counter.value == 4 << 20 + 2)
        try await ours.take(for: key).end()
        #expect(try await theirs.counter(for: key).value == 4 << 20 + 2)
    }
}
