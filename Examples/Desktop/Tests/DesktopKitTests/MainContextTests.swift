// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct MainContextTests {
    init() { MainLoop.start() }

    private static func thread() -> pthread_t { pthread_self() }

    @MainContext private static func threadOfTheActor() -> pthread_t { thread() }

    @Test func runsEverythingOnTheThreadOfTheMainLoop() async {
        let loop = await withCheckedContinuation { continuation in
            onMainContext { continuation.resume(returning: Self.thread()) }
        }
        #expect(await Self.threadOfTheActor() == loop)
        #expect(await Task { @MainContext in Self.thread() }.value == loop)
        #expect(Self.thread() != loop)
    }

    @Test func comesBackAfterEveryWait() async throws {
        let threads = try await Task { @MainContext in
            let before = Self.thread()
            try await Task.sleep(for: .milliseconds(1))
            return [before, Self.thread()]
        }.value
        #expect(threads.first == threads.last)
    }

    @Test func keepsTheOrderOfCalls() async {
        let seen = Numbers()
        await withCheckedContinuation { continuation in
            for number in 0..<100 { onMainContext { seen.all.withLock { $0.append(number) } } }
            onMainContext { continuation.resume() }
        }
        #expect(seen.all.withLock { $0 } == Array(0..<100))
    }

    @Test func letsCallbacksInOnItsOwnThread() async {
        // Plays a callback from C, whose thread the compiler does not know.
        @Sendable func callback() -> pthread_t { MainContext.assumeIsolated { Self.threadOfTheActor() } }
        let loop = await Self.threadOfTheActor()
        #expect(await Task { @MainContext in callback() }.value == loop)
    }

    @Test func keepsOtherThreadsOut() async {
        await #expect(processExitsWith: .failure) { MainContext.assumeIsolated {} }
    }
}

private final class Numbers: Sendable {
    let all = Mutex<[Int]>([])
}
