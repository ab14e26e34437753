// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct InteractionGateTests {
    private let gate = InteractionGate()

    /// A sign-in that is under way until `finish` or its cancellation.
    private func begin(_ finish: TestGate) async throws -> Task<String, any Error> {
        let begun = TestGate()
        let task = Task.immediate { [gate] in
            try await gate.run(.wait) {
                begun.open()
                try await finish.wait()
                return "first"
            }
        }
        try await begun.wait()
        return task
    }

    @Test func theNextWaits() async throws {
        let finish = TestGate()
        let first = try await begin(finish)
        let order = Shared<[String]>([])
        let second = Task.immediate { [gate] in
            try await gate.run(.wait) {
                order.withLock { $0.append("second") }
                return "second"
            }
        }
        order.withLock { $0.append("first still runs") }
        finish.open()
        #expect(try await first.value == "first")
        #expect(try await second.value == "second")
        #expect(order.value == ["first still runs", "second"])
    }

    @Test func whoeverWaitedTriesSilentlyFirst() async throws {
        let finish = TestGate()
        let first = try await begin(finish)
        let second = Task.immediate { [gate] in try await gate.run(.wait, afterAnother: { "silent" }, { "shown" }) }
        let third = Task.immediate { [gate] in try await gate.run(.wait, afterAnother: { nil }, { "shown" }) }
        finish.open()
        #expect(try await first.value == "first")
        #expect(try await second.value == "silent")
        #expect(try await third.value == "shown")
        #expect(try await gate.run(.wait, afterAnother: { "silent" }, { "shown" }) == "shown", "It did not wait.")
    }

    @Test func aWaitingOneCanBeCancelled() async throws {
        let finish = TestGate()
        let first = try await begin(finish)
        let second = Task.immediate { [gate] in try await gate.run(.wait) { "second" } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        finish.open()
        #expect(try await first.value == "first")
    }

    @Test func theNextFails() async throws {
        let finish = TestGate()
        let first = try await begin(finish)
        let error = await #expect(throws: AuthenticationError.self) { try await gate.run(.fail) { "second" } }
        #expect(error?.code == .interactionInProgress)
        finish.open()
        #expect(try await first.value == "first")
        #expect(try await gate.run(.fail) { "third" } == "third")
    }

    @Test func theNextTakesItsPlace() async throws {
        let first = try await begin(TestGate())
        #expect(try await gate.run(.supersede) { "second" } == "second")
        let error = await #expect(throws: AuthenticationError.self) { try await first.value }
        #expect(error?.code == .interactionSuperseded)
    }

    /// The order of the waiting sign-ins is random, and the newest may have ended before the other one starts.
    @Test func theNewestTakesItsPlace() async throws {
        for _ in 0..<50 {
            let (finish, begun) = (TestGate(), TestGate())
            let first = Task.immediate { [gate] in
                try await gate.run(.wait) {
                    begun.open()
                    await Task { try? await finish.wait() }.value  // its end is delayed
                    try Task.checkCancellation()
                }
            }
            try await begun.wait()
            let second = Task.immediate { [gate] in
                try await gate.run(.supersede) { try await TestGate().wait() }
            }
            let third = Task.immediate { [gate] in try await gate.run(.supersede) { "third" } }
            finish.open()
            #expect(try await third.value == "third")
            let errors = [
                await #expect(throws: AuthenticationError.self) { try await first.value },
                await #expect(throws: AuthenticationError.self) { try await second.value as Void },
            ]
            #expect(errors.allSatisfy { $0?.code == .interactionSuperseded })
        }
    }

    @Test func anOlderOneDoesNotBeginWhenTheNewestHasEnded() async throws {
        let (finish, begun, late) = (TestGate(), TestGate(), LateExecutor())
        let first = Task.immediate { [gate] in
            try await gate.run(.wait) {
                begun.open()
                await Task { try? await finish.wait() }.value
            }
        }
        try await begun.wait()
        let second = Task(executorPreference: late) { [gate] in
            try await gate.run(.supersede) { try await TestGate().wait() }
        }
        late.runWaiting()  // the late task waits for the first
        let third = Task.immediate { [gate] in try await gate.run(.supersede) { "third" } }
        finish.open()
        #expect(try await third.value == "third")
        late.runWaiting(andAllToCome: true)
        let error = await #expect(throws: AuthenticationError.self) { try await second.value }
        #expect(error?.code == .interactionSuperseded)
        _ = try? await first.value
    }

    @Test func aCancelledSignInIsJustCancelled() async throws {
        let first = try await begin(TestGate())
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await gate.run(.fail) { "second" } == "second")
    }

    @Test func aFailedSignInFreesTheGate() async throws {
        await #expect(throws: Trouble.self) { try await gate.run(.wait) { throw Trouble() } }
        #expect(try await gate.run(.fail) { "second" } == "second")
    }

    @Test func ofManyOneRunsAtATime() async throws {
        let running = Shared((now: 0, most: 0))
        let tasks = (0..<100).map { _ in
            Task { [gate] in
                try await gate.run(.wait) {
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await Task.yield()
                    running.withLock { $0.now -= 1 }
                }
            }
        }
        for task in tasks { try await task.value }
        #expect(running.value.most == 1)
    }
}
