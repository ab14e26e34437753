// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import SystemSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct SharedWorkQueueTests {
    private let queue = SharedWorkQueue<Int, String, String>(endsQueue: TokenRefresher.endsQueue)
    private let first = 1
    private let second = 2

    @Test func callersWithOneKeyShareOneRun() async throws {
        let gate = TestGate()
        let runs = Shared(0)
        let callers = (0..<1000).map { _ in
            Task.immediate { [queue, first] in
                try await queue.run("key", of: first, isForced: false) {
                    runs.withLock { $0 += 1 }
                    try await gate.wait()
                    return "done"
                }
            }
        }
        gate.open()
        for caller in callers { #expect(try await caller.value == "done") }
        #expect(runs.value == 1)
    }

    @Test func aCancelledCallerDoesNotEndTheWork() async throws {
        let gate = TestGate()
        let caller = Task.immediate { [queue, first] in
            try await queue.run("key", of: first, isForced: false) {
                try await gate.wait()
                return Task.isCancelled ? "cancelled" : "done"
            }
        }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        let joined = Task.immediate { [queue, first] in
            try await queue.run("key", of: first, isForced: false) { "second" }
        }
        gate.open()
        #expect(try await joined.value == "done")
    }

    /// A forced refresh must begin after the call.
    @Test func aForcedCallJoinsQueuedWorkOnly() async throws {
        let gate = TestGate()
        let order = Shared<[String]>([])
        func call(_ name: String, isForced: Bool) -> Task<String, any Error> {
            Task.immediate { [queue, first] in
                try await queue.run(isForced ? "forced" : "plain", of: first, isForced: isForced) {
                    order.withLock { $0.append(name) }
                    try await gate.wait()
                    return name
                }
            }
        }
        let running = call("running", isForced: true)
        let queued = call("queued", isForced: true)
        let joining = call("joining", isForced: true)
        let plain = call("plain", isForced: false)
        gate.open()
        #expect(try await running.value == "running")
        #expect(try await queued.value == "queued")
        #expect(try await joining.value == "queued")
        #expect(try await plain.value == "plain")
        #expect(order.value == ["running", "queued", "plain"])
    }

    @Test func workOfOneQueueRunsOneAfterTheOther() async throws {
        let running = Shared((now: 0, most: 0))
        let callers = (0..<50).map { number in
            Task.immediate { [queue, first] in
                try await queue.run("key \(number)", of: first, isForced: number % 2 == 0) {
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    for _ in 0..<5 { await Task.yield() }
                    running.withLock { $0.now -= 1 }
                    return "\(number)"
                }
            }
        }
        for (number, caller) in callers.enumerated() { #expect(try await caller.value == "\(number)") }
        #expect(running.value.most == 1)
    }

    @Test func workOfDifferentQueuesRunsTogether() async throws {
        let gates = [TestGate(), TestGate()]
        async let one = queue.run("key", of: first, isForced: false) {
            gates[0].open()
            try await gates[1].wait()
            return "one"
        }
        async let two = queue.run("key", of: second, isForced: false) {
            gates[1].open()
            try await gates[0].wait()
            return "two"
        }
        #expect(try await [one, two] == ["one", "two"])
    }

    @Test func finishWaitsForAllWorkAndThrowsNoneOfItsErrors() async throws {
        let gate = TestGate()
        let ended = Shared(0)
        for key in [first, second] {
            for number in 0..<3 {
                queue.start("key \(number)", of: key) {
                    try await gate.wait()
                    ended.withLock { $0 += 1 }
                    if number == 1 { throw Trouble() }
                    return ""
                }
            }
        }
        let finish = Task.immediate { [queue] in
            try await queue.finish()
            return ended.value
        }
        #expect(ended.value == 0)
        gate.open()
        #expect(try await finish.value == 6)
        try await queue.finish()
    }

    /// Otherwise each queued refresh would run into its own time-out, one after the other.
    @Test(arguments: [
        AuthenticationError.Code.network, .networkTimedOut, .connectionFailed, .nameNotResolved,
    ])
    func aSilentNetworkEndsTheQueuedRefreshes(_ code: AuthenticationError.Code) async throws {
        let gate = TestGate()
        let runs = Shared(0)
        let told = Shared<[String]>([])
        func call(_ number: Int) -> Task<String, any Error> {
            Task.immediate { [queue, first] in
                try await queue.run("key \(number)", of: first, isForced: number % 2 == 1) {
                    runs.withLock { $0 += 1 }
                    try await gate.wait()
                    throw AuthenticationError(code, "silent")
                }
            }
        }
        let callers = (0..<6).map(call)
        let cancelled = call(4)
        queue.start("background", of: first) {
            runs.withLock { $0 += 1 }
            return ""
        } failed: { error in
            told.withLock { $0.append("\((error as? AuthenticationError)?.code.rawValue ?? "")") }
        }
        let elsewhere = Task.immediate { [queue, second] in
            try await queue.run("key 1", of: second, isForced: false) {
                try await gate.wait()
                return "elsewhere"
            }
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        for caller in callers {
            let error = await #expect(throws: AuthenticationError.self) { try await caller.value }
            #expect(error?.code == code && error?.message == "silent")
        }
        try await queue.finish()
        #expect(runs.value == 1 && told.value == [code.rawValue])
        #expect(try await elsewhere.value == "elsewhere")
        // Later callers start a new attempt, forced or not.
        #expect(try await queue.run("key 1", of: first, isForced: true) { "again" } == "again")
        #expect(try await queue.run("key 2", of: first, isForced: false) { "again" } == "again")
    }

    @Test(arguments: [
        AuthenticationError.Code.serverUnavailable, .throttled, .signInExpired, .cacheBusy, .malformedResponse,
        .transportUnavailable,
    ])
    func anAnswerEndsNoQueuedRefresh(_ code: AuthenticationError.Code) async throws {
        let gate = TestGate()
        let failing = Task.immediate { [queue, first] in
            try await queue.run("failing", of: first, isForced: false) {
                try await gate.wait()
                throw AuthenticationError(code, "answered")
            }
        }
        let waiting = Task.immediate { [queue, first] in
            try await queue.run("waiting", of: first, isForced: false) { "done" }
        }
        gate.open()
        await #expect(throws: AuthenticationError.self) { try await failing.value }
        #expect(try await waiting.value == "done")
    }

    @Test func aFailureReachesItsCallersAndNoLaterCall() async throws {
        await #expect(throws: Trouble.self) {
            try await queue.run("key", of: first, isForced: false) { throw Trouble() }
        }
        #expect(try await queue.run("key", of: first, isForced: false) { "again" } == "again")
    }
}
