// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Twenty processes sleep in the middle of their work, as on a laptop whose lid is closed.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SleepTests {
    /// The clocks that go on meanwhile.
    enum Sleep: CaseIterable {
        /// The computer is suspended: Linux's monotonic clock stands still, real time and boot clock go on.
        case suspended
        /// The processes alone stand still, as those of a stopped container do: every clock goes on. A lease ends by them.
        case stopped
        /// The same for longer than a request may take, and for less than a lease lasts.
        case briefly

        /// Where the holder may be. A holder that stands still for longer than its lease while a request or its answer is under
        /// way loses the lease to the others, which send the same refresh token.
        var points: [String] {
            self == .stopped ? ["after-lease", "after-write", "before-release"] : Array(CrashPoint.names.dropFirst())
        }

        /// The workers' requests may take 15 s, and their leases last 30 s.
        var time: Duration { self == .briefly ? .seconds(17) : .seconds(2 * 86_400) }
    }

    private static let cases = Store.chosen.flatMap { store in Sleep.allCases.map { (store, $0) } }

    /// Processes that stand still, and clocks that go on.
    private func sleep(
        _ sleep: Sleep,
        _ workers: [WorkerProcess],
        _ setup: SharedCacheSetup,
        _ clock: SteppedClock
    ) async throws {
        for worker in workers { try await StandStill.stop(worker.process) }
        try clock.step(real: sleep.time, monotonic: sleep == .suspended ? .zero : sleep.time, boot: sleep.time)
        setup.clock.advance(by: sleep.time)
        for worker in workers { kill(worker.process, SIGCONT) }
    }

    /// Waits for the reports, and for the end of each process. None waits longer than half a minute after the sleep.
    ///
    /// - Parameter mayBeBusy: Whether some may end with the error that asks to try again.
    private func tokens(_ workers: [WorkerProcess], round: Int = 0, mayBeBusy: Bool = false) async throws -> Set<String>
    {
        let begin = ContinuousClock.now
        var tokens: Set<String> = []
        for worker in workers {
            let report = try #require(try await worker.report(round))
            let error = report.error ?? ""
            #expect(report.error == nil || mayBeBusy && error.hasPrefix("cache"), "\(error)")
            tokens.insert(report.token ?? "")
        }
        #expect(begin.duration(to: .now) < .seconds(30))
        return tokens
    }

    private func expectOneSignIn(_ setup: SharedCacheSetup, refreshes: ClosedRange<Int>, _ line: String) async throws {
        let sent = setup.sentRefreshTokens
        #expect(refreshes.contains(sent.count) && Set(sent).count == sent.count, "\(line): \(sent.count) requests")
        #expect(try await setup.refresh()?.error == nil)
        print("SLEEP \(line): \(sent.count) requests of 20 processes")
        fflush(nil)
    }

    @Test(arguments: cases.filter { $0.1 != .briefly })
    func refreshesOnceAfterwards(_ store: Store, _ sleep: Sleep) async throws {
        let (setup, clock) = (try await SharedCacheSetup(store), try SteppedClock())
        var workers: [WorkerProcess] = []
        for _ in 0..<20 { workers.append(try await setup.worker(entering: clock.entering) { $0.rounds = 2 }) }
        for worker in workers { worker.go() }
        #expect(try await tokens(workers).count == 1)
        setup.provider.forgetRequests()
        try await self.sleep(sleep, workers, setup, clock)
        for worker in workers { worker.go() }
        #expect(try await tokens(workers, round: 1).count == 1)
        try await expectOneSignIn(setup, refreshes: 1...1, "\(store) \(sleep), idle")
    }

    /// One process has the lease, the others wait for it.
    @Test(arguments: cases) func waitersDoNotWaitForEver(_ store: Store, _ sleep: Sleep) async throws {
        for point in sleep.points {
            let (setup, clock) = (try await SharedCacheSetup(store), try SteppedClock())
            let holder = try await setup.worker(entering: clock.entering) { $0.pause = point }
            var workers = [holder]
            holder.go()
            try await holder.paused()
            for _ in 1..<20 {
                workers.append(try await setup.worker(entering: clock.entering) { $0.tellsThatItWaits = true })
            }
            for waiter in workers.dropFirst() { waiter.go() }
            if point != "before-release" && point != "after-write" {
                for waiter in workers.dropFirst() { try await waiter.waiting() }
            }
            try await self.sleep(sleep, workers, setup, clock)
            holder.goOn()
            // A database has 5 s for each call of a waiter.
            let isOver = sleep == .stopped || sleep == .briefly && store == .postgresql
            _ = try await tokens(workers, mayBeBusy: isOver)
            try await expectOneSignIn(setup, refreshes: 1...2, "\(store) \(sleep), \(point)")
        }
    }
}

/// A process stands still while the keyring has a question of it, for longer than its calls may take.
@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: KeyringSession.script != nil, "run Scripts/soak"))
struct AnswersInASleepTests {
    @Test(arguments: Store.chosen.filter { [.keyring, .sharedItem].contains($0) })
    func countIfTheyCameMeanwhile(_ store: Store) async throws {
        let session = try await KeyringSession("fake")
        let setup = try await SharedCacheSetup(Storage(store, bus: session.bus))
        let clock = try SteppedClock()
        let worker = try await setup.worker(entering: clock.entering) { orders in
            orders.rounds = 2
            orders.forces = true
        }
        worker.go()
        #expect(try #require(try await worker.report()).error == nil)
        try await session.tell("stops", "yes")
        worker.go()
        // It was asked to search, and stopped itself before it answered.
        let keyring = try session.process
        try await StandStill.waitUntilStopped(keyring)
        try await StandStill.stop(worker.process)
        try clock.step(real: .seconds(17), monotonic: .seconds(17), boot: .seconds(17))
        setup.clock.advance(by: .seconds(17))
        kill(keyring, SIGCONT)
        try await session.tell("stops", "no")
        kill(worker.process, SIGCONT)
        let report = try #require(try await worker.report(1))
        #expect(report.error == nil && report.source == "identityProvider", "\(report)")
    }
}
