// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A process that stands still has not ended: its lease binds the others, and the answer to its request is for it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StoppedHolderTests {
    @Test(arguments: Store.chosen) func aStoppedProcessKeepsItsLease(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let holder = try await setup.worker()
        let waiter = try await setup.worker { $0.tellsThatItWaits = true }
        holder.go()
        try await setup.provider.waitForRequest(.token)
        try await StandStill.stop(holder.process)
        waiter.go()
        try await waiter.waiting()
        #expect(setup.sentRefreshTokens.count == 1)
        kill(holder.process, SIGCONT)
        gate.open()
        let token = try #require(try await holder.report()).token
        #expect(token != nil)
        #expect(try #require(try await waiter.report()).token == token)
        #expect(setup.sentRefreshTokens.count == 1)
    }

    /// A process that stands still in its request, for longer than the request may take and for less than its lease.
    private struct Stop {
        let setup: SharedCacheSetup
        let worker: WorkerProcess
        let way: StandStill
        let time: Duration
        let isLost: Bool
        /// The seconds that the request may take, and those that the lease lasts longer.
        static let (limit, rest) = (3.0, 15.0)

        init(_ number: Int, _ time: Duration, isLost: Bool) async throws {
            setup = try await SharedCacheSetup(Store.chosen.first ?? .file)
            worker = try await setup.worker { orders in
                (orders.requestTimeout, orders.rounds, orders.forces) = (Self.limit, 2, true)
                orders.hasOwnTransport = number.isMultiple(of: 2)
            }
            way = StandStill.possible[number / 2 % StandStill.possible.count]
            (self.time, self.isLost) = (time, isLost)
        }

        /// Sends the refresh token, and stands still. The provider spends it, and answers or not, and then the process goes on.
        func begin() async throws -> Task<Void, any Error> {
            let gate = TestGate()
            setup.provider.failNext(.token, with: .held(by: gate, then: isLost ? .dropAfterCommit : nil))
            worker.go()
            try await setup.provider.waitForRequest(.token)
            return Task { [worker, way, time] in
                try await way.hold(worker.process) {
                    gate.open()
                    try await Task.sleep(for: time)  // what is tested is what this time does
                }
            }
        }

        func end() async throws {
            let report = try #require(try await worker.report())
            #expect(setup.sentRefreshTokens.count == 1, "\(way), \(time): the refresh token was sent again.")
            guard !isLost else {
                #expect(report.error?.hasPrefix("network") == true, "\(report)")
                return
            }
            #expect(report.error == nil && report.source == "identityProvider", "\(way), \(time): \(report)")
            worker.go()
            let next = try #require(try await worker.report(1))
            #expect(next.error == nil && next.source == "identityProvider", "\(way), \(time): \(next)")
            #expect(Set(setup.sentRefreshTokens).count == 2)
        }
    }

    /// Half of the processes use a transport of their own, whose requests the library ends.
    @Test func usesTheAnswerThatCameWhileItStoodStill() async throws {
        var times = RandomTimes("STOPS of refresh-worker")
        var stops: [Stop] = []
        for number in 0..<Repetitions.stops + 4 {
            // Some answers are lost: then the refresh token is not sent again either. Some stops end about when the limit does.
            let isLost = number >= Repetitions.stops
            let isShort = !isLost && number % 5 == 4
            let range = isShort ? Stop.limit - 0.02..<Stop.limit + 0.02 : Stop.limit + 1.5..<Stop.limit + Stop.rest - 1
            stops.append(try await Stop(number, times.next(range), isLost: isLost))
        }
        var still: [Task<Void, any Error>] = []
        for stop in stops { still.append(try await stop.begin()) }
        for task in still { try await task.value }
        for stop in stops { try await stop.end() }
        print("STOPS \(Repetitions.stops) of refresh-worker between \(Stop.limit) s and its lease")
        fflush(nil)
    }
}
