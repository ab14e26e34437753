// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTesting
import OAuthWire
import Testing

/// Signals while a refresh token is redeemed, which the provider accepts only once.
@Suite struct InterruptionProcessTests {
    /// Somebody who is signed in, and whose access token has expired.
    private func setup() async throws -> ToolSetup {
        let setup = try ToolSetup()
        setup.provider.settings.accessTokenLifetime = .zero
        try await setup.signIn()
        setup.provider.settings.accessTokenLifetime = .seconds(3600)
        setup.provider.forgetRequests()
        return setup
    }

    /// `timeout -s INT` and wrappers turn one signal into two. The system may merge two signals with the same number.
    @Test(.timeLimit(.minutes(1)), arguments: [[SIGINT], [SIGTERM], [SIGINT, SIGINT], [SIGINT, SIGQUIT]])
    func keepsWhatARefreshBringsAfterASignal(_ signals: [Int32]) async throws {
        let setup = try await setup()
        let gate = TestGate()
        // The signal goes before the answer, and nothing tells when it has arrived.
        setup.provider.failNext(.token, with: .held(by: gate, then: .delay(.seconds(3))))
        let tool = try Tool(["token"], setup.variables)
        try await setup.provider.waitForRequest(.token)
        for signal in signals { tool.interrupt(by: signal) }
        gate.open()
        let ended = try await tool.outcome()
        #expect(ended.status == 6 && ended.output.isEmpty, "\(ended.errors)")
        let next = try await setup.run("token", "--json")
        #expect(next.status == 0, "\(next.errors)")
        #expect(try JSONObject(parsing: Array(next.output.utf8)).string("source") == "cache")
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// The answer comes after the signal, while a process that hangs keeps the record's lock.
    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            (["token"], false), (["token"], true), (["call", "/userinfo"], true), (["exec", "--", "true"], true),
        ]
    )
    func saysAfterASignalThatAnAnswerIsNotStored(_ command: [String], insists: Bool) async throws {
        let setup = try await setup()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let arguments = command.map { $0.hasPrefix("/") ? setup.issuer + $0 : $0 }
        let tool = try Tool(arguments, setup.variables)
        try await setup.provider.waitForRequest(.token)
        let locks = try setup.lockRecords()
        defer { for lock in locks { close(lock) } }
        tool.interrupt()
        gate.open()
        _ = try await tool.errorLine { $0.hasPrefix("The new tokens are not stored yet") }
        if insists { try await tool.poll("the end") { tool.interrupt() ? nil : () } }
        let ended = try await tool.outcome()
        #expect(ended.status == 11 && ended.output.isEmpty, "\(ended)")
        #expect(ended.errors.contains("may not accept the old one again"), "\(ended)")
        #expect(ended.errors.contains("(cache.busy"), "\(ended)")
    }

    @Test(.timeLimit(.minutes(1))) func doesNotWaitLongerForAProviderThanItMay() async throws {
        let setup = try await setup()
        let gate = TestGate()
        defer { gate.open() }
        setup.provider.failAlways(.token, with: .held(by: gate))
        let outcome = try await setup.run("token", "--timeout", "1")
        #expect(outcome.status == 3 && outcome.output.isEmpty && outcome.errors.contains("network.timed_out"))
        #expect(outcome.errorLines.last == "To allow more time, give --timeout SECONDS.")
    }

    @Test(.timeLimit(.minutes(1))) func endsAtOnceWhenInterruptedAgain() async throws {
        let setup = try await setup()
        let gate = TestGate()
        defer { gate.open() }
        setup.provider.failAlways(.token, with: .held(by: gate))
        func end(_ interrupt: (Tool) async throws -> Void) async throws -> Duration {
            setup.provider.forgetRequests()
            let tool = try Tool(["token"], setup.variables)
            try await setup.provider.waitForRequest(.token)
            let begin = ContinuousClock.now
            try await interrupt(tool)
            let outcome = try await tool.outcome()
            #expect(outcome.status == 6 && outcome.output.isEmpty, "\(outcome.errors)")
            return ContinuousClock.now - begin
        }
        // Signals in quick succession count as one.
        let again = try await end { tool in try await tool.poll("the end") { tool.interrupt() ? nil : () } }
        // After a single signal, the tool waits for five seconds.
        let once = try await end { $0.interrupt() }
        #expect(again < once)
    }
}
