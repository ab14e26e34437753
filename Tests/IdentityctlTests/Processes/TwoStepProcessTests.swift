// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// A sign-in that one command begins and another finishes.
@Suite struct TwoStepProcessTests {
    private let setup: ToolSetup

    init() throws { setup = try ToolSetup() }

    private func finish(_ line: String, _ arguments: String...) async throws -> Tool.Outcome {
        let tool = try Tool(["login", "--finish"] + arguments, setup.variables)
        try tool.type(line)
        try tool.closeInput()
        return try await tool.outcome()
    }

    @Test(.timeLimit(.minutes(1))) func areOneSignIn() async throws {
        let started = try await setup.run("login", "--start")
        #expect(started.status == 0, "\(started.errors)")
        #expect(started.errors.contains("identityctl login --finish\n"))
        let address = try #require(URL(string: String(started.output.dropLast())))
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.visit(address)
        let answer = try await browser.redirectURL().absoluteString

        let wrong = try await finish("http://127.0.0.1/?code=x&state=y", "--json")
        #expect(wrong.status == 5)
        #expect(try TroubleProcessTests.code(of: wrong) == "invalid_response.state")
        let outcome = try await finish("  \"\(answer)\" ")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(setup.provider.accepts(accessToken: String(outcome.output.dropLast())))
        #expect(!outcome.errors.contains(answer))
        #expect(try await setup.run("token").output == outcome.output)
        #expect(try await finish(answer).status == 5)
    }

    @Test(.timeLimit(.minutes(1))) func endWithALogout() async throws {
        let started = try await setup.run("login", "--start", "--json", "--account", "bob@example.test")
        let report = try JSONObject(parsing: Array(started.output.utf8)).object("signIn")
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.visit(try #require(report?.string("url").flatMap { URL(string: $0) }))
        #expect(report?.string("expiresOn") != nil)
        let answer = try await browser.redirectURL().absoluteString
        #expect(answer.hasPrefix(try #require(report?.string("redirectURI"))))
        let out = try await setup.run("logout")
        #expect(out.errors.contains("begun with --start is given up"), "\(out.errors)")
        let late = try await finish(answer)
        #expect(late.status == 5 && late.errors.contains("identityctl login --start"), "\(late.errors)")
        #expect(setup.provider.count(of: .token) == 0)
    }
}
