// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import SystemSupport
import Testing

@testable import identityctl

/// Programs that are run to their end.
@Suite struct ProgramTests {
    private func run(_ script: String, within limit: Duration = .seconds(30)) async throws -> ProgramOutcome {
        let words = ["/bin/sh", "-c", script].map { CText($0) }
        return try await Program(words, in: CText("")).run([CText("A=b")], within: limit)
    }

    @Test(.timeLimit(.minutes(1))) func returnsWhatAProgramWrites() async throws {
        let outcome = try await run(#"printf "$A"; printf '\n\033[31mx\n' >&2; cat; exit 3"#)
        #expect(outcome.status == 3 && outcome.output == Array("b".utf8))
        #expect(outcome.firstError == "\u{FFFD}[31mx")
        #expect(try await run("kill -9 $$").status == 137)
        #expect(try await run("head -c 300000 /dev/zero").output.count == 300_000)
    }

    @Test(.timeLimit(.minutes(1))) func endsAProgramThatDoesNotEnd() async throws {
        await #expect(throws: SystemFailure.self) { try await run("sleep 600", within: .milliseconds(20)) }
        await #expect(throws: SystemFailure.self) { try await run("cat /dev/zero") }
        let task = Task { try await run("sleep 600") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// A program that stays behind in the background keeps the pipes open.
    @Test(.timeLimit(.minutes(1))) func waitsForNoOtherProgram() async throws {
        #expect(try await run("sleep 2 & echo a").output == Array("a\n".utf8))
    }

    /// Other tests start programs that inherit every descriptor that is not closed on exec, and that live long.
    @Test(.timeLimit(.minutes(1))) func waitsForNoProgramThatAnotherTestStarted() async throws {
        let tool = try Tool(shell: "cat", [:])
        let bystander = try Bystander.start()
        defer { Bystander.end(bystander) }
        try tool.type("a")
        try tool.closeInput()
        #expect(try await tool.outcome().output == "a\n")
    }

    /// A library that is loaded first, as libfaketime, hides the words from Swift.
    @Test func findsItsWordsWithoutSwift() {
        #expect(InheritedState.wordsOfTheSystem().map(\.text) == CommandLine.arguments)
    }

    /// The limit for a word is 128 KiB. Where the command can be started, it takes this process's place.
    @Test func namesTheFileForATokenThatFitsNoVariable() throws {
        let program = try Program([CText("/bin/true"), CText(String(repeating: "x", count: 200_000))], in: CText(""))
        #expect(program.replaceProcess([]).description.hasSuffix("give it in a file: exec --token-file"))
    }
}
