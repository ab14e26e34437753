// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Synchronization
import Testing

/// The tool at a terminal, on which it reads and writes, and a person who answers it.
final class Conversation: Sendable {
    let tool: Tool
    private let terminal: Mutex<PseudoTerminal>
    private let seen = Mutex("")

    init(_ arguments: [String], _ variables: [String: String]) throws {
        let terminal = try PseudoTerminal()
        tool = try Tool(arguments, variables, terminal: terminal.terminal, redirections: "2>&0")
        self.terminal = Mutex(terminal)
    }

    /// All that was shown so far.
    var text: String {
        let new = terminal.withLock { $0.shown() }
        return seen.withLock { seen in
            seen += new
            return seen.replacing("\r\n", with: "\n")
        }
    }

    /// Waits until a text is shown that `pattern` finds, and returns what it captures.
    func shown(_ pattern: Regex<(Substring, Substring)>) async throws -> String {
        try await tool.poll("an answer; the terminal has: \(text)") {
            text.firstMatch(of: pattern).map { String($0.1) }
        }
    }

    /// Waits for a question, and types the answer.
    func answer(_ question: String, _ answer: String) async throws {
        try await tool.poll("the question '\(question)'; the terminal has: \(text)") {
            text.contains(question) ? () : nil
        }
        try terminal.withLock { try $0.type(answer + "\n") }
    }

    /// Opens the address that is shown in a browser elsewhere, signs in, and pastes the address at which that ended.
    func signInElsewhere() async throws {
        let address = try await shown(/\n  (http[^\n]+)\n/)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.visit(try #require(URL(string: address)))
        try await answer("Address (it is not shown", browser.redirectURL().absoluteString)
    }
}
