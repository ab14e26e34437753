// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// APIs that demand more of the sign-in than the token shows.
///
/// - SeeAlso: RFC 6750 §3.1, RFC 9470
@Suite(.timeLimit(.minutes(1)))
struct StepUpTests {
    private static let writing =
        #"Bearer error="insufficient_scope", error_description="Read only.", scope="api.write""#
    private static let gold = #"Bearer error="insufficient_user_authentication", acr_values="gold", max_age="60""#

    private func server(refusing token: String, _ status: Int, with challenge: String) throws -> ResourceServer {
        try ResourceServer { request in
            guard request.headers["Authorization"] == token else {
                return LoopbackResponse(status: 200, text: "welcome")
            }
            var response = LoopbackResponse.unauthorized(challenge)
            response.status = status
            return response
        }
    }

    @Test func asksForTheMissingScopesBesideTheGrantedOnes() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, 403, with: Self.writing)
        let error = try await expectError(.insufficientScope) { try await client.get(server.url()) }
        #expect(error.challenge?.scopes.isSuperset(of: ["api.read", "api.write"]) == true)
        #expect(error.serverError?.errorDescription == "Read only." && error.serverError?.httpStatus == 403)
        #expect(error.message.contains("lacks: api.write."))
        #expect(server.requests.count == 1 && setup.provider.count(of: .token) == 1)

        let parameters = error.interactiveParameters(scopes: client.scopes, account: client.account)
        let result = try await client.application.acquireTokenInteractively(parameters)
        #expect(result.scopes.isSuperset(of: ["api.read", "api.write"]))
        // The client of the narrower scopes uses the wider token.
        #expect(try await client.get(server.url()).response.status == .ok)
        #expect(server.authorizations.last == result.authorizationHeader)
    }

    @Test func asksForANewerAuthentication() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        setup.clock.advance(by: .seconds(600))
        let server = try server(refusing: token, 401, with: Self.gold)
        let error = try await expectError(.insufficientUserAuthentication) { try await client.get(server.url()) }
        #expect(error.challenge == ResourceChallenge(acrValues: ["gold"], maxAge: .seconds(60)))
        #expect(server.requests.count == 1 && setup.provider.count(of: .token) == 1, "No renewal could help.")

        var parameters = error.interactiveParameters(scopes: client.scopes, account: client.account)
        parameters.requiresACR = true
        setup.provider.tamperNextIDToken(with: .claim("acr", "gold"))
        _ = try await client.application.acquireTokenInteractively(parameters)
        let asked = try #require(setup.provider.requests.last { $0.endpoint == .authorization })
        #expect(asked["acr_values"] == "gold" && asked["max_age"] == "60")
        #expect(try await client.get(server.url()).response.status == .ok)
    }

    @Test(arguments: [nil, "silver"])
    func refusesASignInWithAnotherACRIfItIsRequired(acr: String?) async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.acrValues = ["gold", "platinum"]
        parameters.requiresACR = true
        setup.provider.tamperNextIDToken(with: .claim("acr", acr))
        let error = try await expectError(.insufficientUserAuthentication) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.challenge?.acrValues == ["gold", "platinum"])
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        parameters.requiresACR = false
        #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
    }

    @Test func aRequiredACRHasToBeNamed() async throws {
        let application = try TestSetup().application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.requiresACR = true
        try await expectError(.invalidArgument) { try await application.acquireTokenInteractively(parameters) }
    }

    @Test func refusesAnAuthenticationThatIsOlderThanDemanded() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, 401, with: Self.gold)
        let error = try await expectError(.insufficientUserAuthentication) { try await client.get(server.url()) }
        let parameters = error.interactiveParameters(scopes: client.scopes, account: client.account)
        setup.provider.tamperNextIDToken(with: .claim("auth_time", nil))
        let refusal = try await expectError(.invalidIDToken) {
            try await client.application.acquireTokenInteractively(parameters)
        }
        #expect(refusal.message.contains("auth_time"))
    }

    /// The person signs in while a request with the earlier token is under way.
    @Test func repeatsTheRequestOnceWithATokenThatCameMeanwhile() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let (gate, application) = (TestGate(), client.application)
        let server = try ResourceServer { _ in
            try? await gate.wait()  // a test that was cancelled needs no answer
            return .unauthorized(Self.gold)
        }
        let url = try server.url()
        let call = Task { try await client.get(url) }
        try await wait { server.requests.count == 1 }
        let second = try await application.acquireTokenInteractively(scopes: ["api.read"])
        gate.open()
        try await expectError(.insufficientUserAuthentication) { try await call.value }
        #expect(server.authorizations.count == 2 && server.authorizations.last == second.authorizationHeader)
    }
}
