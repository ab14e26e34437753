// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import SystemSupport
import Testing

struct Trouble: Error {}

@Suite(.timeLimit(.minutes(1))) struct SharedResultTests {
    @Test func releasesEverybodyWithTheFirstOutcome() async throws {
        let result = Promise<Int>()
        let waiters = (0..<1000).map { _ in Task { try await result.value() } }
        result.finish(.success(1))
        result.finish(.success(2))
        for waiter in waiters { #expect(try await waiter.value == 1) }
        #expect(try await result.value() == 1)
    }

    @Test func aCancelledWaiterLeavesTheOthersWaiting() async throws {
        let result = Promise<Int>()
        let first = Task { try await result.value() }
        let second = Task { try await result.value() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        result.finish(.failure(Trouble()))
        await #expect(throws: Trouble.self) { try await second.value }
    }

    @Test func neverWaitsInACancelledTask() async throws {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await Promise<Int>().value()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@Suite(.timeLimit(.minutes(1))) struct SingleFlightTests {
    @Test func aThousandCallersShareOneRun() async throws {
        let flights = SingleFlight<String, Int>()
        let gate = TestGate()
        let runs = Shared(0)
        let callers = (0..<1000).map { _ in
            Task.immediate {
                try await flights.run("key") {
                    let number = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    try await gate.wait()
                    return number
                }
            }
        }
        let other = try await flights.run("other") { 7 }
        gate.open()
        for caller in callers { #expect(try await caller.value == 1) }
        #expect(runs.value == 1)
        #expect(other == 7)
        #expect(try await flights.run("key") { 2 } == 2)
    }

    @Test func aCancelledCallerDoesNotEndTheRun() async throws {
        let flights = SingleFlight<Int, Bool>()
        let gate = TestGate()
        let caller = Task.immediate {
            try await flights.run(1) {
                try await gate.wait()
                return Task.isCancelled
            }
        }
        let other = Task.immediate { try await flights.run(1) { true } }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        gate.open()
        #expect(try await other.value == false)
    }

    @Test func handsOutTheErrorAndForgetsIt() async throws {
        let flights = SingleFlight<Int, Int>()
        await #expect(throws: Trouble.self) { try await flights.run(1) { throw Trouble() } }
        #expect(try await flights.run(1) { 5 } == 5)
    }
}

@Suite(.timeLimit(.minutes(1))) struct DeadlineTests {
    @Test func givesTheValueOrTheError() async throws {
        #expect(try await withDeadline(.seconds(60)) { 1 } == 1)
        await #expect(throws: Trouble.self) { try await withDeadline(.seconds(60)) { throw Trouble() } }
    }

    /// The caller also leaves work that ignores cancellation.
    @Test func releasesTheCallerAtTheDeadline() async throws {
        let stuck = Promise<Void>()
        await #expect(throws: DeadlineExceeded.self) {
            try await withDeadline(.milliseconds(20)) { await Task { try? await stuck.value() }.value }
        }
        stuck.finish(.success(()))
    }

    @Test func cancelsTheWorkAtTheDeadlineAndOnCancellation() async throws {
        for duration in [Duration.milliseconds(20), .seconds(3600)] {
            let cancelled = TestGate()
            let caller = Task.immediate {
                try await withDeadline(duration) {
                    try await withTaskCancellationHandler {
                        try await Promise<Void>().value()
                    } onCancel: {
                        cancelled.open()
                    }
                }
            }
            if duration > .seconds(1) { caller.cancel() }
            await #expect(throws: (any Error).self) { try await caller.value }
            try await cancelled.wait()
        }
    }
}
