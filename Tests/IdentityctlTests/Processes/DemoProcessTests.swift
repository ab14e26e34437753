// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The demonstration, which `Scripts/demo` runs.
@Suite(.timeLimit(.minutes(1)))
struct DemoProcessTests {
    private func run(in place: Surroundings) throws -> Tool {
        try Tool(["--headless"], ["TMPDIR": place.directory.path], program: "identity-demo")
    }

    private func rest(in place: Surroundings) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.directory.path)
    }

    @Test func showsTheWholeOfASignInAndLeavesNothing() async throws {
        let place = try Surroundings()
        let demo = try await run(in: place).outcome()
        #expect(demo.status == 0, "\(demo.errors)")
        #expect(demo.errors.isEmpty)
        let lines = demo.output.split(separator: "\n")
        for step in 1...7 { #expect(lines.contains { $0.hasPrefix("\(step). ") }, "step \(step)") }
        #expect(try rest(in: place).isEmpty)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func leavesNothingWhereItIsInterrupted(_ signal: Int32) async throws {
        let place = try Surroundings()
        let demo = try run(in: place)
        try await demo.poll("the third step") { demo.text.contains("\n3. ") ? () : nil }
        demo.interrupt(by: signal)
        #expect(try await demo.outcome().status == 1)
        #expect(try rest(in: place).isEmpty)
    }

    /// One that still runs keeps its files.
    @Test func removesWhatAKilledDemonstrationLeft() async throws {
        let place = try Surroundings()
        let killed = try run(in: place)
        try await killed.poll("the third step") { killed.text.contains("\n3. ") ? () : nil }
        killed.interrupt(by: SIGKILL)
        _ = try await killed.outcome()
        let stale = try rest(in: place)
        #expect(stale.count == 1)
        let (first, second) = (try run(in: place), try run(in: place))
        #expect(try await first.outcome().status == 0)
        #expect(try await second.outcome().status == 0)
        #expect(try rest(in: place).isEmpty)
    }
}
