// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import Testing

/// An agent and a program that keeps a file fresh sleep for two days with the computer.
@Suite(.timeLimit(.minutes(1))) struct SleepProcessTests {
    @Test(arguments: [false, true]) func agentAndWatcherGoOnWithOneRefresh(_ isMonotonicStepped: Bool) async throws {
        let (days, manual, clock) = (Duration.seconds(2 * 86_400), ManualClock(now: .now), try SteppedClock())
        let setup = try ToolSetup(clock: manual)
        try await setup.signIn()
        let (path, socket) = (setup.directory.path + "/token", setup.directory.path + "/run/agent.sock")
        let variables = setup.variables.merging(clock.variables) { $1 }
        let agent = try Tool(["agent", "--socket", socket], variables)
        let watcher = try Tool(["token", "--output", path, "--watch"], variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let old = try await watcher.poll("the file") { FileManager.default.contents(atPath: path) }
        let client = ["IDENTITYCTL_AGENT": socket]
        #expect(try await Tool.run(["token"], client).status == 0)
        setup.provider.forgetRequests()

        for tool in [agent, watcher] { tool.interrupt(by: SIGSTOP) }
        try clock.step(real: days, monotonic: isMonotonicStepped ? days : .zero, boot: days)
        manual.advance(by: days)
        for tool in [agent, watcher] { tool.interrupt(by: SIGCONT) }

        let (first, second) = (try Tool(["token"], client), try Tool(["token"], client))
        let outcomes = [try await first.outcome(), try await second.outcome()]
        #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes)")
        let new = try await watcher.poll("a new token in the file") {
            FileManager.default.contents(atPath: path).flatMap { $0 == old ? nil : $0 }
        }
        #expect(Set(outcomes.map(\.output)) == [String(decoding: new, as: UTF8.self) + "\n"])
        #expect(setup.provider.count(of: .token) == 1)
        for tool in [agent, watcher] { #expect(tool.interrupt(by: SIGTERM)) }
        #expect(try await agent.outcome().status == 0)
        #expect(try await watcher.outcome().status == 0)
    }
}
