// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import OAuthWire
import Testing

@testable import identityctl

/// The agent, and an account that only the computer's identity broker has.
@Suite(.timeLimit(.minutes(1))) struct AgentBrokerTests {
    /// A broker that has one account and its token.
    private struct Broker: TokenBroker {
        let account: Account
        let tokens: BrokerTokens

        func acquireTokenSilently(_ request: BrokerRequest) async throws -> BrokerTokens { tokens }
        func acquireTokenInteractively(_ request: BrokerRequest) async throws -> BrokerTokens { tokens }
        func accounts(for clientID: ClientID) async throws -> [Account] { [account] }
        func remove(_ account: Account, for clientID: ClientID) async throws {}
        func information() async throws -> BrokerInformation { BrokerInformation() }
    }

    @Test func handsOutTheTokenOfTheBrokersAccount() async throws {
        let setup = try TestSetup(.entra)
        let (_, signedIn) = try await setup.signedIn()
        let account = Account(id: signedIn.account.id, environment: "login.windows.net")
        let tokens = BrokerTokens(
            accessToken: signedIn.accessToken,
            scopes: ["api.read"],
            idToken: signedIn.idToken,
            homeAccountID: signedIn.account.homeAccountID
        )
        let application = try setup.application {
            $0.cache = InMemoryTokenCache()
            $0.broker = .required(Broker(account: account, tokens: tokens))
        }
        let profile = AgentProfile(
            name: "work",
            environment: Variables([:]),
            options: try ProviderOptions.parse(["--client-id", "test-client"]),
            scopes: ["api.read"],
            login: SharedOptions(),
            keepsVariables: true,
            version: ""
        )
        let service = AgentService(
            .only(profile),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            passPhrases: PassPhrasePrompt(),
            ask: { _, _ in throw NoPersonToAsk(reason: "this is a test") },
            show: { _, _ in throw NoPersonToAsk(reason: "this is a test") },
            signIn: { _ in true },
            make: { _ in application }
        )
        let bytes = await service.answer(Array(#"{"request":"access_token"}"#.utf8), from: nil, isControl: false)
        let answer = try JSONObject(parsing: bytes)
        #expect(answer.string("access_token") == signedIn.accessToken, "\(answer)")
    }

    @Test func asksTheBrokerThatItsOptionNames() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/agent.sock"
        let agent = try Tool(
            [
                "agent", "--socket", path, "--client-id", "c", "--authority",
                "https://login.microsoftonline.com/contoso.com",
                "--scope", "User.Read", "--cache", "memory", "--broker", "required",
            ],
            ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(directory.path)/no-bus"]
        )
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let token = try await Tool.run(["token"], ["IDENTITYCTL_AGENT": path])
        #expect(token.status == 1 && token.errors.contains("identity broker"), "\(token)")
        agent.interrupt()
        _ = try await agent.outcome()
    }
}
