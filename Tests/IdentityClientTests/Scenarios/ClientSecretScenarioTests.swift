// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

/// Providers that give a secret to installed programs, and take no request for tokens without it.
@Suite(.timeLimit(.minutes(1)))
struct ClientSecretScenarioTests {
    private func stage(_ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }) throws -> Stage {
        try Stage(clients: [TestIdentityProvider.Client(secret: "not so secret")], change)
    }

    @Test func signsInRefreshesAndPushesWithIt() async throws {
        let stage = try stage { $0.pushedAuthorizationRequests = .required }
        let application = try stage.application { $0.clientSecret = "not so secret" }
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        stage.clock.advance(by: .seconds(3600))
        let second = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(second.source == .identityProvider && second.accessToken != first.accessToken)
        for endpoint in [TestIdentityProvider.Endpoint.token, .pushedAuthorization] {
            let requests = stage.provider.requests.filter { $0.endpoint == endpoint }
            #expect(!requests.isEmpty && requests.allSatisfy { $0["client_secret"] == "not so secret" })
        }
        // What the browser was sent with is in its history.
        #expect(
            stage.provider.requests.allSatisfy { request in request.query.allSatisfy { $0.name != "client_secret" } }
        )
    }

    @Test(arguments: [nil, "another"] as [ClientSecret?])
    func saysThatItIsMissingOrWrong(_ secret: ClientSecret?) async throws {
        let application = try stage().application { $0.clientSecret = secret }
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error?.code == .clientNotRegistered, "\(String(describing: error))")
    }

    @Test(arguments: ["", String(repeating: "x", count: 1025)])
    func refusesWhatIsNone(_ secret: String) throws {
        let error = #expect(throws: AuthenticationError.self) {
            try stage().application { $0.clientSecret = ClientSecret(rawValue: secret) }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func showsItNowhere() throws {
        let configuration = try stage().application { $0.clientSecret = "not so secret" }.configuration
        var dumped = ""
        dump(configuration.clientSecret, to: &dumped)
        dumped += "\(configuration) \(String(reflecting: configuration.clientSecret))"
        #expect(!dumped.contains("not so"))
    }
}
