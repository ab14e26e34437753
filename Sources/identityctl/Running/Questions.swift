// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient

/// Questions to the person who types at this terminal, one at a time.
struct Questions: Sendable {
    /// Whether a person reads standard error and types on standard input.
    static var arePossible: Bool { isatty(STDIN_FILENO) == 1 && StandardStream.error.isTerminal }

    let console: Console
    private let lines: LineReader

    /// - Throws: `CancellationError`.
    init(_ console: Console) async throws {
        self.console = console
        lines = try await LineReader(missing: "Nothing was typed")
    }

    /// Asks for a line. Return alone means the usual answer.
    ///
    /// - Parameter usual: The usual answer; `nil` if there is none, so that the question is asked again.
    /// - Throws: `.userCancelled` at the end of the input, `.interactionTimedOut` after ten minutes, `CancellationError`.
    func answer(to question: String, usual: String? = nil) async throws -> String {
        while true {
            console.line(question + (usual.map { " [\($0)]" } ?? ""))
            let typed = try await lines.next(until: .now + .seconds(600))
            let line = String(typed.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
            if !line.isEmpty { return line }
            if let usual { return usual }
        }
    }

    /// Asks for one of several answers, by its number.
    ///
    /// - Returns: The index of the answer. Return alone means the first one.
    func choice(_ question: String, _ answers: [String]) async throws -> Int {
        console.line(question)
        for (index, answer) in answers.enumerated() { console.line("  \(index + 1)  \(answer)") }
        while true {
            let line = try await answer(to: "A number from 1 to \(answers.count):", usual: "1")
            if let number = Int(line), (1...answers.count).contains(number) { return number - 1 }
        }
    }

    /// Asks a question to which Return alone means yes.
    func agrees(to question: String) async throws -> Bool {
        try await ["y", "yes"].contains(answer(to: "\(question) (yes or no)", usual: "yes").lowercased())
    }
}
