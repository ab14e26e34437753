// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTestSupport
import SystemSupport
import Testing

@testable import identityctl

/// Questions where there is no desktop.
@Suite struct PersonAtHandTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func program(_ script: String) throws -> String {
        let path = "\(directory.path)/askpass"
        let file = FileManager.default.createFile(
            atPath: path,
            contents: Data("#!/bin/sh\n\(script)\n".utf8),
            attributes: [.posixPermissions: 0o700]
        )
        #expect(file)
        return path
    }

    /// - Parameter typed: The line at the terminal; `nil` without one.
    private func ask(
        _ program: String?,
        typed: String? = nil,
        within limit: Duration = .seconds(25)
    ) async throws -> String? {
        let person = PersonAtHand(
            desktop: { _, _ in throw NoPersonToAsk(reason: "there is no session bus") },
            program: program,
            directories: "\(directory.path):/usr/bin:/bin",
            terminal: { text in
                guard let typed else { throw NoPersonToAsk(reason: "there is no terminal") }
                #expect(text == "Title 'a' Text. Type yes to allow it")
                return typed
            }
        )
        return try await person.ask(Notice(title: "Title 'a'", text: "Text."), limit)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("exit 0", "allow"), ("exit 1", nil), ("kill -9 $$", nil), ("echo yes; exit 3", nil),
            // Programs that do not know the form "confirm" print what the person typed.
            ("echo yes", "allow"), ("printf Yes", "allow"), ("printf 'yes\\r\\n'", "allow"), ("echo", "allow"),
            ("echo no", nil), ("printf no", nil), ("echo y", nil), ("echo ' yes'", nil), ("echo 'yes or no'", nil),
            ("printf '\\000'", nil), ("head -c 3000000 /dev/zero", nil), ("echo no; echo yes", nil),
            // What the program gets, and standard error, which is no answer.
            (#"[ "$SSH_ASKPASS_PROMPT" = confirm ] && [ "$1" = "Title 'a'"$'\n'"Text." ] && [ $# = 1 ]"#, "allow"),
            ("printf 'no\\033[2J' >&2", "allow"),
        ] as [(String, String?)]
    )
    func takesFromTheProgramForPassPhrasesWhatSSHAgentTakes(script: String, answer: String?) async throws {
        let script = script.replacing("\"$'\\n'\"", with: "\n")
        #expect(try await ask(try program(script), typed: "yes") == answer)
    }

    @Test(.timeLimit(.minutes(1))) func findsTheProgramInPath() async throws {
        _ = try program("exit 0")
        #expect(try await ask("askpass") == "allow")
    }

    /// The program and those that it starts end with the question.
    @Test(.timeLimit(.minutes(1))) func endsTheProgramWithTheTimeForAnAnswer() async throws {
        let numbers = "\(directory.path)/numbers"
        let script = "trap : TERM INT HUP; sleep 1000 & echo $! $$ >\(numbers).new; mv \(numbers).new \(numbers); wait"
        let path = try program(script)
        let question = Task { try await ask(path) }
        while !FileManager.default.fileExists(atPath: numbers) { await Task.yield() }
        question.cancel()
        await #expect(throws: CancellationError.self) { try await question.value }
        let processes = try String(contentsOfFile: numbers, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        #expect(processes.count == 2)
        for process in processes {
            // The kernel ends a process soon after the signal.
            while let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                !state.contains(") Z")
            {
                await Task.yield()
            }
        }
        let late = try program("exec sleep 1000")
        await #expect(throws: DeadlineExceeded.self) { try await ask(late, within: .milliseconds(10)) }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [("yes", "allow"), ("y", nil), ("", nil), ("yes ", nil), ("YES", nil)] as [(String, String?)]
    )
    func asksAtTheTerminalWithoutAProgram(typed: String, answer: String?) async throws {
        #expect(try await ask(nil, typed: typed) == answer)
        #expect(try await ask("/no/such/program", typed: typed) == answer)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhyNoPersonCanBeAsked() async throws {
        let nobody = await #expect(throws: NoPersonToAsk.self) { try await ask(nil) }
        #expect(nobody?.reason == "there is no session bus; SSH_ASKPASS is not set; there is no terminal")
        let missing = await #expect(throws: NoPersonToAsk.self) { try await ask("no-such-program") }
        #expect(missing?.reason.contains("There is no command 'no-such-program'") == true, "\(missing?.reason ?? "")")
    }
}
