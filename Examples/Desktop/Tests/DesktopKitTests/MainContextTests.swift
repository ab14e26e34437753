// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct MainContextTests {
    init() { MainLoop.start() }

    @MainContext private static func thread() -> Thread { Thread.current }

    @Test(.timeLimit(.minutes(1))) func runsEverythingOnTheThreadOfTheMainLoop() async {
        let first = await Self.thread()
        let second = await Task { @MainContext in Thread.current }.value
        #expect(first == second)
        #expect(first != Thread.current)
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheOrderOfCalls() async {
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            for number in 0..<100 { onMainContext { seen.withLock { $0.append(number) } } }
            onMainContext { continuation.resume() }
        }
        #expect(seen.withLock { $0 } == Array(0..<100))
    }

    @Test(.timeLimit(.minutes(1))) func letsCallbacksInOnItsOwnThread() async {
        let answer = await Task { @MainContext in
            // What a callback from C does, of whose thread the compiler does not know.
            { MainContext.assumeIsolated { Self.thread() } }() == Thread.current
        }.value
        #expect(answer)
    }
}
