// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Answers through the browser are checked before they are used.
@Suite(.timeLimit(.minutes(1)))
struct RefusedRedirectTests {
    enum Receiver: CaseIterable { case inMemory, loopback }

    @Test(arguments: [nil, "guessed", ""] as [String?], Receiver.allCases)
    func waitsOnAfterAWrongState(_ state: String?, _ receiver: Receiver) async throws {
        let setup = try TestSetup(listensOnLoopback: receiver == .loopback)
        setup.browser.redirectFaults = [.forgedFirst("state", value: state)]
        let (_, result) = try await setup.signedIn()
        #expect(result.source == .identityProvider)
        #expect(Set(setup.browser.pages.suffix(2).map(\.status)) == [200, 400])
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test(arguments: Receiver.allCases, ["wrong", "missing", "duplicate"])
    func endsAtTheDeadlineWhenTheRightStateNeverComes(_ receiver: Receiver, _ defect: String) async throws {
        let setup = try TestSetup(listensOnLoopback: receiver == .loopback)
        switch defect {
        case "wrong": setup.browser.redirectFaults = [.changing("state", to: "guessed")]
        case "missing": setup.browser.redirectFaults = [.changing("state", to: nil)]
        default: setup.browser.redirectFaults = [.repeating("state")]
        }
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .seconds(2)  // real seconds, enough for the provider's pages
        try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.browser.pages.last?.status == 400)
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test(
        arguments: ["https://evil.example.test", nil, "https://login.example.test/", "HTTPS://login.example.test"],
        [false, true]
    )
    func refusesTheAnswerOfAnotherIssuer(_ issuer: String?, inPlaceOfAForm isQuery: Bool) async throws {
        let setup = try TestSetup { $0.forgetsResponseMode = isQuery }
        setup.browser.redirectFaults = [.changing("iss", to: issuer)]
        let application = try setup.application()
        let error = try await expectError(.invalidResponse) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("does not name its provider") == (issuer == nil))
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        #expect(try await setup.browser.finalPage().status == 400)
    }

    /// glewlwyd escapes twice in its forms; no known provider does so in a query.
    @Test(arguments: [ResponseMode.formPost, .query])
    func takesAnIssuerThatIsEscapedTwiceFromAFormAlone(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        setup.browser.redirectFaults = [.changing("iss", to: "https%3A%2F%2Flogin.example.test")]
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = mode
        let application = try setup.application()
        guard mode == .query else {
            #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
            return
        }
        try await expectError(.invalidResponse) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test(arguments: ["code", "iss"])
    func refusesAnAnswerWithAParameterTwice(_ name: String) async throws {
        let setup = try TestSetup()
        setup.browser.redirectFaults = [.repeating(name)]
        let application = try setup.application()
        try await expectError(.malformedResponse) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    /// RFC 6749 §3.1: a parameter occurs at most once.
    @Test func refusesAnAnswerWithTwoCodes() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        let items = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems)
        func sent(_ name: String) throws -> String { try #require(items.first { $0.name == name }?.value) }
        let redirect = try "\(sent("redirect_uri"))?code=theirs&state=\(sent("state"))&code=ours"
        let url = try #require(URL(string: redirect))
        try await expectError(.malformedResponse) { try await application.completeAuthorization(request, with: url) }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func refusesAForeignCode() async throws {
        let setup = try TestSetup()
        setup.browser.redirectFaults = [.changing("code", to: "made-up")]
        let application = try setup.application()
        try await expectError(.loginRequired) { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        #expect(setup.provider.count(of: .token) == 1)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    /// A code with characters that have a meaning in a query, in a form, or in both.
    @Test(arguments: [ResponseMode.query, .formPost])
    func sendsACodeToTheTokenEndpointAsItCame(_ mode: ResponseMode) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let code = "a+b/c=d%2Be&f#g h"
        setup.browser.redirectFaults = [.changing("code", to: code)]
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = mode
        let application = try setup.application()
        try await expectError(.loginRequired) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.provider.requests.last { $0.endpoint == .token }?["code"] == code)
    }

    @Test func signsInThoughOthersAskForThePortFirst() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.redirectFaults = [.strayRequest(), .strayRequest(path: "/admin?code=x&state=y"), .twice]
        let (application, result) = try await setup.signedIn()
        #expect(try await application.allAccounts() == [result.account])
        #expect(setup.provider.count(of: .token) == 1)
    }
}
