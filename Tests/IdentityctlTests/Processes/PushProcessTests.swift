// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

/// Requests that are pushed to the provider before the browser opens (RFC 9126).
@Suite struct PushProcessTests {
    @Test(.timeLimit(.minutes(1))) func pushesTheRequestAndSaysHowLongItsAddressIsGood() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.pushedAuthorizationRequests = .offered
        let tool = try Tool(["login", "--manual", "--push"], setup.variables)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        let address = try await tool.shownAddress()
        #expect(!address.absoluteString.contains("redirect_uri"))
        _ = try await tool.errorLine { $0.contains("It can be opened once, and no later than in 1:") }
        try await browser.visit(address)
        try tool.type(try await browser.redirectURL().absoluteString)
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(setup.provider.count(of: .pushedAuthorization) == 1)
    }
}
