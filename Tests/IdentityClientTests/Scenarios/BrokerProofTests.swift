// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Bound tokens through an identity broker: to the program's own key, or not used.
@Suite(.timeLimit(.minutes(1)))
struct BrokerProofTests {
    private let setup: TestSetup
    private let broker = ScriptedBroker()

    init() throws {
        setup = try TestSetup(.entra)
    }

    private func application(isRequired: Bool = false) throws -> PublicClientApplication {
        try setup.application { $0.broker = isRequired ? .required(broker) : .whenAvailable(broker) }
    }

    private func silent(_ account: Account, isForced: Bool = false) -> SilentParameters {
        var parameters = SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: isForced)
        parameters.scheme = .pop
        return parameters
    }

    private func interactive(_ told: Shared<[String]>? = nil) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.scheme = .pop
        parameters.onProgress = { phase in
            if case .brokerUnavailable(let message) = phase { told?.withLock { $0.append(message) } }
        }
        return parameters
    }

    /// The broker binds its tokens to the key that a request names.
    private func obey() {
        let setup = setup
        let answer: ScriptedBroker.Answer = { try await setup.brokerTokens(boundTo: $0.keyID) }
        broker.interactive.withLock { $0 = answer }
        broker.silent.withLock { $0 = answer }
    }

    @Test func bindsTheBrokersTokensToTheProgramsKey() async throws {
        obey()
        let application = try application(isRequired: true)
        let result = try await application.acquireTokenInteractively(interactive())
        #expect(result.source == .broker && result.scheme == .pop)
        let keyID = try #require(broker.requests.value.first?.keyID)
        #expect(setup.provider.introspect(accessToken: result.accessToken)?.keyID == keyID)

        let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/")
        let header = try result.authorizationHeader(for: request)
        let proof = try JSONWebToken(compact: String(header.dropFirst(4)))
        let key = try #require(proof.claims.object("cnf")?.object("jwk").flatMap { JSONWebKey($0) })
        #expect(proof.header.string("kid") == keyID && proof.claims.string("at") == result.accessToken)
        #expect(key.verifies(proof.signature, of: proof.signingInput, with: .ps256))

        let hit = try await application.acquireTokenSilently(silent(result.account))
        #expect(hit.source == .cache && hit.accessToken == result.accessToken)
        let renewed = try await application.acquireTokenSilently(silent(result.account, isForced: true))
        #expect(renewed.source == .broker && renewed.scheme == .pop && renewed.accessToken != result.accessToken)
        #expect(broker.requests.value.map(\.keyID) == [keyID, keyID])
        #expect(broker.requests.value.map(\.refusedToken) == [nil, result.accessToken])
        // A bearer token is another one.
        let bearer = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(bearer.source == .broker && bearer.scheme == .bearer && broker.requests.value[2].keyID == nil)
    }

    /// Himmelblau before version 4 ignores the wish; another key is a mistake of the broker's.
    @Test(arguments: [nil, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])
    func usesNoTokenOfABrokerThatIsNotBoundToTheKey(keyID: String?) async throws {
        let tokens = try await setup.brokerTokens(boundTo: keyID)
        broker.interactive.withLock { $0 = { _ in tokens } }
        broker.silent.withLock { $0 = { _ in tokens } }
        let (strict, opened) = (try application(isRequired: true), setup.browser.openedURLs.count)
        try await expectError(.unsupported) { try await strict.acquireTokenInteractively(interactive()) }
        #expect(setup.browser.openedURLs.count == opened)
        let known = Account(
            id: Account.ID(rawValue: try #require(tokens.homeAccountID)),
            environment: "login.windows.net"
        )
        try await expectError(.unsupported) { try await strict.acquireTokenSilently(silent(known)) }
        #expect(try await setup.storedCredentials(of: strict).isEmpty)

        // With nothing but the broker's tokens, the person is needed, whom the browser then asks.
        let application = try application()
        let error = try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(silent(known))
        }
        #expect(error.message.contains("(cnf)"))
        let told = Shared<[String]>([])
        let result = try await application.acquireTokenInteractively(interactive(told))
        #expect(result.source == .identityProvider && result.scheme == .pop)
        #expect(told.value.count == 1 && told.value[0].contains("(cnf)"))
        // The refresh token of that sign-in takes over.
        let renewed = try await application.acquireTokenSilently(silent(result.account, isForced: true))
        #expect(renewed.source == .identityProvider && renewed.scheme == .pop)
    }
}
