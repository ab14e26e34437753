// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import identity_demo

/// The demonstration, which `Scripts/demo` runs.
@Suite(.timeLimit(.minutes(1)))
struct DemoProcessTests {
    private func run(in setup: ToolSetup) throws -> Tool {
        try Tool(["--headless"], ["TMPDIR": setup.directory.path], program: "identity-demo")
    }

    private func rest(in setup: ToolSetup) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: setup.directory.path)
    }

    @Test func showsTheWholeOfASignInAndLeavesNothing() async throws {
        let setup = try ToolSetup()
        let demo = try await run(in: setup).outcome()
        #expect(demo.status == 0, "\(demo.errors)")
        #expect(demo.errors.isEmpty)
        let lines = demo.output.split(separator: "\n")
        for step in 1...7 { #expect(lines.contains { $0.hasPrefix("\(step). ") }, "step \(step)") }
        #expect(try rest(in: setup).isEmpty)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func leavesNothingWhereItIsInterrupted(_ signal: Int32) async throws {
        let setup = try ToolSetup()
        let demo = try run(in: setup)
        try await demo.poll("the third step") { demo.text.contains("\n3. ") ? () : nil }
        demo.interrupt(by: signal)
        #expect(try await demo.outcome().status == 1)
        #expect(try rest(in: setup).isEmpty)
    }

    /// One that still runs keeps its files.
    @Test func removesWhatAKilledDemonstrationLeft() async throws {
        let setup = try ToolSetup()
        let killed = try run(in: setup)
        try await killed.poll("the third step") { killed.text.contains("\n3. ") ? () : nil }
        killed.interrupt(by: SIGKILL)
        _ = try await killed.outcome()
        let stale = try rest(in: setup)
        #expect(stale.count == 1)
        let (first, second) = (try run(in: setup), try run(in: setup))
        #expect(try await first.outcome().status == 0)
        #expect(try await second.outcome().status == 0)
        #expect(try rest(in: setup).isEmpty)
    }

    @Test(arguments: [
        (Duration.nanoseconds(1), "1 µs"), (.microseconds(999), "999 µs"), (.microseconds(1250), "1.2 ms"),
        (.microseconds(12_500), "12 ms"), (.milliseconds(2160), "2.1 s"), (.seconds(61), "61 s"),
    ])
    func writesDurationsForPeople(duration: Duration, text: String) {
        #expect(duration.shortText == text)
    }
}
