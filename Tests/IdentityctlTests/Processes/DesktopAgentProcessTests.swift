// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// An agent at a desktop: it asks the person.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct DesktopAgentProcessTests {
    private static let confirm = ["IDENTITYCTL_AGENT_CONFIRM": "always"]

    @Test(.timeLimit(.minutes(1)), arguments: ["allow", "early"])
    func handsOutATokenThatThePersonAllows(answer: String) async throws {
        let desktop = try DesktopSetup(answer)
        let login = try await desktop.tool.login()
        let (agent, client) = try await desktop.agent(Self.confirm)
        let token = try await Tool.run(["token"], client)
        #expect(token.status == 0 && token.output == login.output, "\(token)")
        let notice = try #require(try desktop.notices().first)
        #expect(notice.string("title") == "Hand out a token of 'default'?", "\(notice)")
        let text = try #require(notice.string("text"))
        #expect(
            text.contains(" (process ") && text.contains(") asks through identityctl for an access token of "),
            "\(notice)"
        )
        #expect(text.hasSuffix("the scopes files.read. It calls itself &#39;identityctl token&#39;."), "\(notice)")
        #expect(notice.strings("buttons") == ["allow", "Allow", "deny", "Deny"] && notice.integer("urgency") == 2)
        agent.interrupt()
        #expect(try await agent.outcome().status == 0)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["deny", "closed"])
    func handsOutNothingThatThePersonRefuses(answer: String) async throws {
        let desktop = try DesktopSetup(answer, capabilities: "actions,body")
        #expect(try await desktop.tool.login().status == 0)
        let (agent, client) = try await desktop.agent(Self.confirm)
        // The second one is refused without a question.
        for _ in 0..<2 {
            let token = try await Tool.run(["token"], client)
            #expect(token.status == 7 && token.output.isEmpty && token.errors.contains("did not allow"), "\(token)")
        }
        #expect(try desktop.notices().count { $0.string("title") != nil } == 1)
        #expect(try desktop.notices().first?.string("text")?.hasSuffix("'identityctl token'.") == true)
        agent.interrupt()
    }

    /// Without a notification service, without buttons, without a bus.
    @Test(.timeLimit(.minutes(1)), arguments: [nil, "body", "-"])
    func saysThatNoPersonCanBeAsked(capabilities: String?) async throws {
        let desktop = try capabilities.map { try DesktopSetup("allow", capabilities: $0) } ?? DesktopSetup()
        #expect(try await desktop.tool.login().status == 0)
        let more = capabilities == "-" ? ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"] : [:]
        let (agent, client) = try await desktop.agent(Self.confirm.merging(more) { $1 })
        let token = try await Tool.run(["token", "--json"], client)
        #expect(token.status == 4 && token.errors.contains("cache.agent_unconfirmed"), "\(token)")
        #expect(token.errors.contains("no person can be asked"), "\(token)")
        #expect(try desktop.notices().isEmpty)
        agent.interrupt()
    }

    @Test(.timeLimit(.minutes(1))) func takesTheQuestionBackWhenTheProgramLeaves() async throws {
        let desktop = try DesktopSetup("never")
        #expect(try await desktop.tool.login().status == 0)
        let (agent, client) = try await desktop.agent(Self.confirm)
        let token = try Tool(["token"], client)
        _ = try await agent.poll("a question") { try? desktop.notices().first }
        #expect(token.interrupt())
        #expect(try await token.outcome().status == 6)
        let closed = try await agent.poll("its end") { try? desktop.notices().dropFirst().first }
        #expect(closed.integer("closed") == 1)
        agent.interrupt()
    }

    /// Many requests are one notification, and its button is one tab.
    @Test(.timeLimit(.minutes(1))) func signsInByTheButtonOfTheReminder() async throws {
        let desktop = try DesktopSetup("sign-in")
        let (agent, client) = try await desktop.agent([:], "--log-level", "info")
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<5 { group.addTask { try await Tool.run(["token"], client).status } }
            for try await status in group { #expect(status == 2) }
        }
        try await ScriptedBrowser(provider: nil).visit(try await agent.shownAddress())
        _ = try await agent.errorLine { $0.contains("Signed in") && $0.contains("default") }
        #expect(try await Tool.run(["token"], client).status == 0)
        let notices = try desktop.notices()
        #expect(notices.count == 1 && notices.first?.strings("buttons") == ["sign-in", "Sign in"], "\(notices)")
        agent.interrupt()
        #expect(try await agent.outcome().status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func takesTheReminderBackAfterASignInElsewhere() async throws {
        let desktop = try DesktopSetup("never")
        let (agent, client) = try await desktop.agent()
        #expect(try await Tool.run(["token"], client).status == 2)
        _ = try await agent.poll("a reminder") { try? desktop.notices().first }
        #expect(try await desktop.tool.login().status == 0)
        #expect(try await Tool.run(["token"], client).status == 0)
        let closed = try await agent.poll("its end") { try? desktop.notices().dropFirst().first }
        #expect(closed.integer("closed") == 1)
        agent.interrupt()
    }

    @Test(.timeLimit(.minutes(1)), arguments: [("Screen true", "Screen false"), ("Session Lock", "Session Unlock")])
    func locksWithTheScreen(lock: String, unlock: String) async throws {
        let desktop = try DesktopSetup("never")
        let (agent, client) = try await desktop.agent([:], "--log-level", "info")
        func status() async throws -> String { try await Tool.run(["agent", "status"], client).output }
        try desktop.tell(lock)
        _ = try await agent.errorLine { $0.contains("The screen is locked") }
        #expect(try await status() == "locked\ndefault\n")
        try desktop.tell(unlock)
        _ = try await agent.errorLine { $0.contains("The screen is unlocked") }
        #expect(try await status() == "unlocked\ndefault\n")
        agent.interrupt()
        #expect(try await agent.outcome().status == 0)
    }

    /// The other user's lock comes first, and would be told first.
    @Test(.timeLimit(.minutes(1))) func followsTheSessionsOfItsOwnUserAlone() async throws {
        let desktop = try DesktopSetup("never")
        let (agent, _) = try await desktop.agent([:], "--log-level", "info")
        for signal in ["OtherHint true", "Hint true", "OtherHint false", "Hint false"] { try desktop.tell(signal) }
        _ = try await agent.errorLine { $0.contains("The screen is unlocked") }
        agent.interrupt()
        let errors = try await agent.outcome().errors
        #expect(errors.split(separator: "The screen is locked").count == 2, "\(errors)")
        #expect(errors.split(separator: "The screen is unlocked").count == 2, "\(errors)")
    }

    /// A session that has ended tells no more of its screen: the agent stays locked until one tells that it is unlocked.
    @Test(.timeLimit(.minutes(1))) func locksWhenTheBusIsLostThatToldOfTheScreen() async throws {
        let desktop = try DesktopSetup("never")
        let (agent, client) = try await desktop.agent([:], "--log-level", "info")
        func status() async throws -> String { try await Tool.run(["agent", "status"], client).output }
        #expect(try await status() == "unlocked\ndefault\n")
        try desktop.endBus()
        _ = try await agent.errorLine { $0.contains("The screen is locked") && $0.contains("a lost bus") }
        #expect(try await status() == "locked\ndefault\n")
        try desktop.startBus("never")
        _ = try await agent.errorLine { $0.contains("The screen is unlocked") }
        #expect(try await status() == "unlocked\ndefault\n")
        try desktop.tell("Screen true")
        _ = try await agent.errorLine { $0.contains("The screen is locked") && $0.contains("the screen saver") }
        agent.interrupt()
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["Screen true", "Hint true"])
    func isLockedAtItsStartIfTheScreenIs(lock: String) async throws {
        let desktop = try DesktopSetup("never")
        try desktop.tell(lock)
        for (arguments, state) in [([], "locked"), (["--ignore-screen"], "unlocked")] {
            let path = "\(desktop.tool.directory.path)/run/\(state).sock"
            let agent = try Tool(["agent", "--socket", path] + arguments, desktop.variables)
            _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
            let status = try await Tool.run(["agent", "status"], ["IDENTITYCTL_AGENT": path])
            #expect(status.output == "\(state)\ndefault\n", "\(status)")
            agent.interrupt()
        }
    }
}
