// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CRace
import Dispatch
import Synchronization
import Testing

/// The first check of `Scripts/thread-sanitizer`. Before it accepts a run of the tests, each test that is named after a
/// race must produce a report, and the others must not.
/// The tests are serialized, because some occupy a thread of the pool until another has arrived.
@Suite(.serialized) struct RaceTests {
    private final class Shared: @unchecked Sendable {
        let guardian = Mutex(())
        let isResumed = Atomic(false)
        var count = 0
    }

    private let shared = Shared()

    /// A task and a thread write the same variable. The wait for the task comes afterwards.
    @Test func raceInSwift() async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "race").async {
                let end = DispatchSemaphore(value: 0)
                Task.detached {
                    shared.count += 1
                    end.signal()
                }
                shared.count += 1
                end.wait()
                continuation.resume()
            }
        }
        #expect(shared.count > 0)
    }

    @Test func raceInC() {
        #expect(crace_count() > 0)
    }

    @Test func raceInACopy() {
        #expect(crace_copy() > 0)
    }

    @Test(.timeLimit(.minutes(1))) func threadsMeetAtAMutex() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20_000 {
                        shared.guardian.withLock { _ in shared.count += 1 }
                        while shared.guardian.withLockIfAvailable({ _ in shared.count += 1 }) == nil {}
                    }
                }
            }
        }
        #expect(shared.count == 160_000)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aContinuationIsResumed(beforeItIsAwaited isEarly: Bool) async {
        await withCheckedContinuation { continuation in
            countOnAnotherThread { continuation.resume() }
            if isEarly { waitUntilItIsResumed() }
        }
        shared.count += 1
        #expect(shared.count == 2)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aContinuationFails(beforeItIsAwaited isEarly: Bool) async {
        await #expect(throws: CancellationError.self) {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                countOnAnotherThread { continuation.resume(throwing: CancellationError()) }
                if isEarly { waitUntilItIsResumed() }
            }
        }
        shared.count += 1
        #expect(shared.count == 2)
    }

    private func countOnAnotherThread(andThen resume: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async {
            shared.count += 1
            resume()
            shared.isResumed.store(true, ordering: .relaxed)
        }
    }

    /// Does not synchronize; the continuation must.
    private func waitUntilItIsResumed() {
        while !shared.isResumed.load(ordering: .relaxed) {}
    }
}
