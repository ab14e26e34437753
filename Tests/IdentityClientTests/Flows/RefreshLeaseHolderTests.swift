// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct RefreshLeaseHolderTests {
    private let cache = InMemoryTokenCache()
    private let key: CacheKey

    init() throws {
        key = CacheKey(group: try CacheGroup("group"), kind: .lease, name: "name")
    }

    private func holder(_ duration: Duration = .seconds(60)) -> RefreshLeaseHolder {
        RefreshLeaseHolder(cache: cache, key: key, duration: duration)
    }

    private var stored: RefreshLease? {
        get async throws { try await cache.record(for: key).flatMap(RefreshLease.init) }
    }

    private func put(_ holder: ProcessIdentity, duration: Int64, deadline: Int64) async throws {
        let lease = RefreshLease(nonce: "theirs", duration: duration, holder: holder, deadline: deadline)
        #expect(try await cache.replace(nil, with: lease.encoded(), for: key))
    }

    @Test func takesAFreeLeaseAndGivesItBack() async throws {
        let held = try #require(try await holder().acquire { true })
        let lease = try #require(try await stored)
        #expect(lease.holder == ProcessTable.current() && lease.duration == 60_000)
        #expect(lease.deadline > ProcessTable.bootTime() + 50_000)
        await held.release()
        #expect(try await cache.record(for: key) == nil)
    }

    /// Storage that reacts to cancellation must not keep the lease, or this process would wait for itself.
    @Test func givesItBackInATaskThatWasCancelled() async throws {
        let directory = try TemporaryDirectory()
        let files = FileTokenCache(directory: directory.path)
        let holder = RefreshLeaseHolder(cache: files, key: key, duration: .seconds(60))
        let held = try #require(try await holder.acquire { false })
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            await held.release()
        }
        await task.value
        #expect(try await files.record(for: key) == nil)
    }

    @Test func waitsForALivingHolder() async throws {
        let held = try #require(try await holder().acquire { false })
        let asked = Shared(0)
        let second = Task.immediate { [holder = holder()] in
            try await holder.acquire {
                asked.withLock { $0 += 1 }
                return false
            }
        }
        #expect(try await stored != nil)
        #expect(asked.value == 0)
        await held.release()
        let next = try #require(try await second.value)
        #expect(asked.value >= 1)
        await next.release()
    }

    @Test func endsWithoutALeaseWhenTheOtherDidTheWork() async throws {
        let held = try #require(try await holder().acquire { false })
        let second = Task.immediate { [holder = holder()] in try await holder.acquire { true } }
        await held.release()
        #expect(try await second.value == nil)
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func takesOverFromTheDead() async throws {
        var dead = ProcessTable.current()
        dead.startTime = "1"
        try await put(dead, duration: 120_000, deadline: .max)
        let held = try #require(try await holder().acquire { false })
        #expect(try await stored?.nonce != "theirs")
        await held.release()
    }

    @Test func takesOverFromWhomItCannotSeeOnceTheLeaseRanOut() async throws {
        let other = ProcessIdentity(bootID: "other", pidNamespace: "pid:[1]", pid: 1, startTime: "1")
        try await put(other, duration: 60, deadline: 0)
        let begin = ContinuousClock.now
        let held = try #require(try await holder().acquire { false })
        #expect(ContinuousClock.now - begin >= .milliseconds(60))
        await held.release()
    }

    @Test func takesOverADamagedLease() async throws {
        #expect(try await cache.replace(nil, with: CacheRecord(bytes: [0]), for: key))
        #expect(try await holder().acquire { false } != nil)
    }

    @Test func givesUpWhenOthersHoldItTooLong() async throws {
        try await put(ProcessTable.current(), duration: 120_000, deadline: .max)
        let error = await #expect(throws: AuthenticationError.self) {
            try await holder(.milliseconds(20)).acquire { false }
        }
        #expect(error?.code == .cacheBusy)
    }

    @Test func givesUpOnACacheThatNeverAccepts() async throws {
        let cache = CountingCache()
        cache.state.withLock { $0.refusesWrites = true }
        let holder = RefreshLeaseHolder(cache: cache, key: key, duration: .milliseconds(20))
        let error = await #expect(throws: AuthenticationError.self) { try await holder.acquire { false } }
        #expect(error?.code == .cacheBusy)
        #expect(cache.state.value.writes < 100)
    }

    @Test func aCancelledWaitEnds() async throws {
        try await put(ProcessTable.current(), duration: 120_000, deadline: .max)
        let task = Task.immediate { [holder = holder()] in try await holder.acquire { false } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await stored?.nonce == "theirs")
    }

    @Test func outlastsARequestByRenewing() async throws {
        let held = try #require(try await holder(.seconds(10)).acquire { false })
        let first = try await stored
        try await held.outlast(.seconds(5))
        #expect(try await stored == first)
        try await held.outlast(.seconds(9))
        let second = try await stored
        #expect(second != first && second?.holder == first?.holder)
        await held.release()
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func noticesThatSomebodyTookOver() async throws {
        let held = try #require(try await holder(.seconds(1)).acquire { false })
        let other = RefreshLease(nonce: "theirs", duration: 1000, holder: ProcessTable.current(), deadline: .max)
        #expect(try await cache.replace(cache.record(for: key), with: other.encoded(), for: key))
        let error = await #expect(throws: AuthenticationError.self) { try await held.outlast(.seconds(30)) }
        #expect(error?.code == .cacheBusy)
        await held.release()
        #expect(try await stored == other)
    }

    @Test func oneHolderAtATime() async throws {
        let inside = Shared((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<10 {
                tasks.addTask { [holder = holder()] in
                    guard let held = try await holder.acquire(unless: { false }) else { return }
                    inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await Task.yield()
                    inside.withLock { $0.now -= 1 }
                    await held.release()
                }
            }
            try await tasks.waitForAll()
        }
        #expect(inside.value.most == 1)
    }
}
