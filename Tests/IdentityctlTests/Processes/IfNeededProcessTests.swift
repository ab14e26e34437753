// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import Testing

@testable import identityctl

/// Scripts that need a sign-in at the same time.
@Suite struct IfNeededProcessTests {
    private let setup: ToolSetup
    private var variables: [String: String] { setup.variables }

    init() throws {
        setup = try ToolSetup()
    }

    private func login(_ arguments: String...) throws -> Tool {
        try Tool(["login", "--if-needed"] + arguments, variables)
    }

    private static func isWaiting(_ line: String) -> Bool { line.hasPrefix("Another sign-in for this client") }

    @Test(.timeLimit(.minutes(1))) func opensOneBrowserForAll() async throws {
        let first = try login()
        let address = try await first.shownAddress()
        let second = try login()
        _ = try await second.errorLine(where: Self.isWaiting)
        try await ScriptedBrowser(provider: nil).visit(address)
        let (one, other) = (try await first.outcome(), try await second.outcome())
        #expect(one.status == 0 && other.status == 0, "\(one.errors) \(other.errors)")
        #expect(!one.output.isEmpty && one.output == other.output)
        let later = try await login().outcome()
        #expect(later.output == one.output && later.errors.isEmpty)
        #expect(first.hasOpenedBrowser && !second.hasOpenedBrowser)
    }

    /// Then the waiting command asks the person, or gives up when its own time limit is reached.
    @Test(.timeLimit(.minutes(1))) func goesOnWhereTheFirstOneIsGivenUp() async throws {
        let first = try login()
        _ = try await first.shownAddress()
        let late = try await login("--timeout", "4", "--json").outcome()
        #expect(late.status == 6)
        #expect(try TroubleProcessTests.code(of: late) == "user_cancelled.timed_out")
        let second = try login()
        _ = try await second.errorLine(where: Self.isWaiting)
        first.interrupt()
        #expect(try await first.outcome().status == 6)
        try await ScriptedBrowser(provider: nil).visit(try await second.shownAddress())
        #expect(try await second.outcome().status == 0)
    }

    /// One without the option waits for no turn, and opens a browser of its own.
    @Test(.timeLimit(.minutes(1))) func takesTheTokensOfASignInElsewhere() async throws {
        let first = try login()
        _ = try await first.shownAddress()
        let other = try await setup.login()
        #expect(other.status == 0, "\(other.errors)")
        let ended = try await first.outcome()
        #expect(ended.status == 0 && ended.output == other.output, "\(ended.errors)")
        #expect(ended.errors.contains("Another command has signed in meanwhile."))
    }

    @Test func saysThatItDoesNotWaitIfNoLockCanBeMade() async throws {
        let configuration = try setup.provider.application().configuration
        let screen = Screen()
        let turn = try await SignInTurn.ofCommand(
            in: "/dev/null",
            of: ["client"],
            configuration.group,
            .seconds(60),
            screen.console(columns: 80)
        )
        #expect(turn == nil && screen.text.contains("so each opens a page"))
    }

    @Test(.timeLimit(.minutes(1))) func opensNoBrowserIfTheProviderIsUnreachable() async throws {
        try await setup.signIn()
        setup.provider.close()
        let tool = try login("--claims", "{}")
        let offline = try await tool.outcome()
        #expect(offline.status == 3, "\(offline.errors)")
        #expect(!tool.hasOpenedBrowser)
    }
}
