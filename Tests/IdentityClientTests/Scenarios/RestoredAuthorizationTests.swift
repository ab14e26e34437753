// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Prepared sign-ins that another process finishes.
@Suite(.timeLimit(.minutes(1)))
struct RestoredAuthorizationTests {
    private let setup: TestSetup
    private let application: PublicClientApplication

    init() throws {
        setup = try TestSetup(listensOnLoopback: true)
        setup.browser.followsRedirects = false
        application = try setup.application()
    }

    private func prepared(
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthorizationRequest {
        var parameters = InteractiveParameters(scopes: ["api.read"])
        change(&parameters)
        return try await application.prepareAuthorization(parameters)
    }

    private func answer(to request: AuthorizationRequest) async throws -> URL {
        try await setup.browser.open(request.url)
        return try await setup.browser.redirectURL()
    }

    /// Returns the data with changed members; `nil` removes one.
    private func data(of request: AuthorizationRequest, _ changes: [String: JSONValue?]) throws -> [UInt8] {
        var object = try JSONObject(parsing: try request.serialized())
        for (name, value) in changes { object[name] = value }
        return object.serialized()
    }

    private func expectRefusal(
        _ code: AuthenticationError.Code,
        of data: [UInt8],
        by application: PublicClientApplication? = nil
    ) async throws {
        let application = application ?? self.application
        try await expectError(code) { try await application.restoreAuthorization(data) }
    }

    @Test func areFinishedByAnotherApplicationObject() async throws {
        let request = try await prepared()
        let data = try request.serialized()
        let redirect = try await answer(to: request)
        let other = try setup.application()
        let restored = try await other.restoreAuthorization(data)
        #expect(restored.url == request.url && restored.redirectURI == request.redirectURI)
        let wrong = try #require(URL(string: "\(request.redirectURI)/?code=x&state=guessed"))
        try await expectError(.stateMismatch) { try await other.completeAuthorization(restored, with: wrong) }
        let result = try await other.completeAuthorization(restored, with: redirect)
        #expect(result.correlationID == request.correlationID)
        #expect(try await application.allAccounts() == [result.account])
        try await expectError(.invalidArgument) { try await other.completeAuthorization(restored, with: redirect) }

        // The provider knows the code again, if a program keeps the data for too long.
        let again = try await other.restoreAuthorization(data)
        await #expect(throws: AuthenticationError.self) { try await other.completeAuthorization(again, with: redirect) }
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func keepEverythingThatTheAnswerIsCheckedAgainst() async throws {
        let account = Account(id: .init(rawValue: "a|b"), environment: "e", username: "alice", homeAccountID: "h")
        let request = try await prepared {
            $0.account = account
            $0.claims = #"{"id_token":{"acr":{"essential":true,"values":["x"]}}}"#
            $0.maxAge = .seconds(600)
            $0.acrValues = ["urn:one", "urn:two"]
            $0.requiresACR = true
            $0.requiredAMR = ["mfa", "pwd"]
            $0.requiresPersistence = true
            $0.responseMode = .formPost
            $0.timeout = .seconds(500)
        }
        setup.clock.advance(by: .seconds(100))
        let restored = try await application.restoreAuthorization(try request.serialized())
        #expect(restored.state == request.state && restored.nonce == request.nonce && request.nonce != nil)
        #expect(restored.proofKey.verifier == request.proofKey.verifier)
        #expect(restored.signIn.asked == request.signIn.asked && restored.parameters.scopes == ["api.read"])
        #expect(restored.signIn.claims == request.signIn.claims && restored.maxAge == 600 && restored.comesByForm)
        #expect(restored.parameters.requiredAuthentication.acrValues == ["urn:one", "urn:two"])
        #expect(restored.parameters.requiredAuthentication.amr == ["mfa", "pwd"])
        #expect(restored.parameters.account == account && restored.parameters.requiresPersistence)
        #expect(restored.signIn.metadata == request.signIn.metadata)
        #expect(restored.signIn.authority == request.signIn.authority)
        #expect(restored.parameters.timeout <= .seconds(400) && restored.parameters.timeout > .seconds(398))
        #expect(try restored.serialized() == request.serialized())
    }

    @Test func refuseAnotherPerson() async throws {
        let request = try await prepared {
            $0.account = Account(id: .init(rawValue: "somebody|else"), environment: "e")
        }
        let redirect = try await answer(to: request)
        let restored = try await application.restoreAuthorization(try request.serialized())
        try await expectError(.accountMismatch) {
            try await application.completeAuthorization(restored, with: redirect)
        }
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test func refuseAnotherNonce() async throws {
        let request = try await prepared()
        let redirect = try await answer(to: request)
        let changed = try data(of: request, ["nonce": .string("another")])
        let restored = try await application.restoreAuthorization(changed)
        try await expectError(.invalidIDToken) {
            try await application.completeAuthorization(restored, with: redirect)
        }
    }

    @Test(
        arguments: [
            ["unknown": .string("x")], ["state": nil], ["state": .string("")], ["state": .bool(true)], ["nonce": nil],
            ["nonce": .integer(7)], ["codeVerifier": .string("short")], ["scopes": .string("a")], ["url": .string("")],
            ["correlationID": .string("x")], ["validUntil": .bool(true)], ["requiresACR": nil], ["version": nil],
            ["account": .object(JSONObject([("id", .string("a"))]))], ["maxAge": .string("x")],
            ["url": .string("https://h/" + String(repeating: "x", count: 300_000))],
        ] as [[String: JSONValue?]]
    )
    func refuseDamagedData(_ changes: [String: JSONValue?]) async throws {
        try await expectRefusal(.invalidArgument, of: try data(of: try await prepared(), changes))
    }

    @Test func refuseOtherText() async throws {
        let text = String(decoding: try await prepared().serialized(), as: UTF8.self)
        for other in ["", "{", "[]", text + text, text.replacing("{\"version\"", with: "{\"state\":\"x\",\"version\"")]
        {
            try await expectRefusal(.invalidArgument, of: Array(other.utf8))
        }
    }

    @Test func refuseAnotherVersionClientAuthorityOrIssuer() async throws {
        let request = try await prepared()
        try await expectRefusal(.unsupported, of: try data(of: request, ["version": .integer(2), "new": .bool(true)]))
        try await expectRefusal(.invalidResponse, of: try data(of: request, ["issuer": .string("https://other.test")]))
        try await expectRefusal(.invalidResponse, of: try data(of: request, ["issuer": nil]))
        let data = try request.serialized()
        try await expectRefusal(.configuration, of: data, by: try setup.application { $0.clientID = "another" })
        let elsewhere = try Authority.openIDConnect(issuer: "https://other.test")
        try await expectRefusal(.configuration, of: data, by: try setup.application { $0.authority = elsewhere })
    }

    @Test func expireWithTheTimeOfTheSignIn() async throws {
        let request = try await prepared { $0.timeout = .seconds(60) }
        let data = try request.serialized()
        setup.clock.advance(by: .seconds(58))
        #expect(try await application.restoreAuthorization(data).url == request.url)
        setup.clock.advance(by: .seconds(2))
        try await expectRefusal(.interactionTimedOut, of: data)
        let far = try self.data(of: request, ["validUntil": .integer(1 << 40)])
        try await expectRefusal(.interactionTimedOut, of: far)
    }

    @Test func areNotMadeOfAnAnsweredRequest() async throws {
        let request = try await prepared()
        _ = try await application.completeAuthorization(request, with: try await answer(to: request))
        #expect { try request.serialized() } throws: { ($0 as? AuthenticationError)?.code == .invalidArgument }
        let endless = try await prepared { $0.timeout = .seconds(86_401) }
        #expect { try endless.serialized() } throws: { ($0 as? AuthenticationError)?.code == .invalidArgument }
    }

    @Test func needTheKeyThatTheirTokenIsBoundTo() async throws {
        let setup = try TestSetup(.entra)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.scheme = .pop
        let data = try await setup.application().prepareAuthorization(parameters).serialized()
        _ = try await setup.application().restoreAuthorization(data)
        let other = try setup.application { $0.cache = InMemoryTokenCache() }
        try await expectError(.cache) { try await other.restoreAuthorization(data) }
    }

    @Test func waitForTheirAddressInAStore() async throws {
        func store() throws -> AccountStore {
            let configuration = try setup.application().configuration
            return try AccountStore([AccountType("own", configuration: configuration, scopes: ["api.read"])])
        }
        let request = try await store().prepareAuthorization(ofType: "own")
        let data = try request.serialized()
        let redirect = try await answer(to: request)
        let restarted = try store()
        #expect(try await restarted.handleRedirect(redirect) == nil)
        try await restarted.restoreAuthorization(data, ofType: "own")
        #expect(try await restarted.handleRedirect(redirect)?.source == .identityProvider)
    }
}
