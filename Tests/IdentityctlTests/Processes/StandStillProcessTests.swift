// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import Testing

/// The tool stands still in its request for longer than the request may take, 30 s, and for less than its lease, 45 s.
@Suite(.timeLimit(.minutes(5))) struct StandStillProcessTests {
    /// The number of tools that stand still side by side.
    private static let count = ProcessInfo.processInfo.environment["IDENTITY_SOAK_STOPS"].flatMap(Int.init) ?? 10

    @Test func usesTheAnswerThatCameMeanwhile() async throws {
        var times = RandomTimes("STOPS of identityctl")
        var setups: [ToolSetup] = []
        for _ in 0..<Self.count {
            let setup = try ToolSetup()
            try await setup.signIn()
            setup.provider.forgetRequests()
            setups.append(setup)
        }
        var still: [(tool: Tool, time: Duration, task: Task<Void, any Error>)] = []
        for (number, setup) in setups.enumerated() {
            let (gate, time) = (TestGate(), times.next(31..<44))
            let way = StandStill.possible[number % StandStill.possible.count]
            setup.provider.failNext(.token, with: .held(by: gate))
            let tool = try Tool(["token", "--force-refresh"], setup.variables)
            try await setup.provider.waitForRequest(.token)
            let task = Task {
                try await way.hold(tool.identifier) {
                    gate.open()
                    try await Task.sleep(for: time)  // what is tested is what this time does
                }
            }
            still.append((tool, time, task))
        }
        for (setup, (tool, time, task)) in zip(setups, still) {
            try await task.value
            let outcome = try await tool.outcome()
            #expect(outcome.status == 0, "\(time): \(outcome)")
            #expect(setup.provider.count(of: .token) == 1, "\(time): the refresh token was sent again.")
            #expect(try await setup.run("token", "--force-refresh").status == 0)
        }
        print("STOPS \(Self.count) of identityctl between 31 and 44 s")
        fflush(nil)
    }
}
