// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityKeyring
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// The steps of the guide *Coming from MSAL for Objective-C*, exactly as written there (`Scripts/test` compares), in the order of
/// Microsoft's tutorial for iOS and macOS.
@Suite(.timeLimit(.minutes(1)))
struct ComingFromMSALForObjectiveC {
    @Test func theApplicationIsCreatedAsTheGuideSays() throws {
        let authority = try Authority.entra(.common)
        let cache = DesktopTokenCache(applicationName: "Contoso")  // import IdentityKeyring
        let app = try PublicClientApplication(.init(clientID: "your-client-id", authority: authority, cache: cache))
        #expect(app.configuration.authority.description == "https://login.microsoftonline.com/common/")
    }

    /// The provider and Graph are on the loopback interface.
    @Test(arguments: [false, true])
    func theProgramOfTheTutorialRuns(isShared: Bool) async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        provider.settings.consentScopes = ["Mail.Read"]
        let server = try ResourceServer.graph(of: provider)
        let me = try server.url("/v1.0/me")
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        let browser = ScriptedBrowser(provider: nil)
        configuration.browser = browser
        let app = try PublicClientApplication(configuration)
        var log: [String] = []
        func show(_ text: String) { log.append(text) }

        func loadCurrentAccount() async throws -> Account? {
            let accounts = try await app.currentAccount()
            if let current = accounts.current {
                show(current.username ?? "Signed in")
            } else if let previous = accounts.previous {
                show("\(previous.username ?? "The account") is signed out")
            }
            return accounts.current
        }
        #expect(try await loadCurrentAccount() == nil && log.isEmpty)

        var scopes: Set<Scope> = ["User.Read"]
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.prompt = .selectAccount
        var result = try await app.acquireTokenInteractively(parameters)
        #expect(provider.requests.last { $0.endpoint == .authorization }?["prompt"] == "select_account")
        #expect(result.source == .identityProvider)

        func callGraph(_ account: Account) async throws -> String {
            do {
                result = try await app.acquireTokenSilently(scopes: scopes, account: account)
            } catch let error as AuthenticationError where error.family == .interactionRequired {
                let parameters = error.interactiveParameters(scopes: scopes, account: account)
                result = try await app.acquireTokenInteractively(parameters)
            }
            let graph = AuthenticatedClient(application: app, account: account, scopes: ["User.Read"])
            let (response, body) = try await graph.get(me)
            return "\(response.status.code) \(text(body))"
        }
        let account = try #require(try await loadCurrentAccount())
        #expect(try await callGraph(account) == #"200 {"displayName":"Alice Example"}"#)
        #expect(result.source == .cache && browser.openedURLs.count == 1)
        // A permission that the person has not given yet opens the page again, for the same person.
        scopes.insert("Mail.Read")
        #expect(try await callGraph(account) == #"200 {"displayName":"Alice Example"}"#)
        #expect(result.scopes.contains("Mail.Read") && browser.openedURLs.count == 2)
        #expect(provider.requests.last { $0.endpoint == .authorization }?["login_hint"] == account.username)

        func signOut() async throws -> SignOutResult {
            var parameters = SignOutParameters()
            parameters.endsBrowserSession = isShared
            let outcome = try await app.signOut(account, parameters: parameters)
            return outcome
        }
        #expect(try await signOut().wasSignedIn)
        #expect(provider.count(of: .endSession) == (isShared ? 1 : 0))
        #expect(try await loadCurrentAccount() == nil)
        #expect(log == ["alice@example.test", "alice@example.test is signed out"])
    }
}

extension ResourceServer {
    /// Microsoft Graph, as far as the tutorials call it: the person of the token, and all people.
    static func graph(of provider: TestIdentityProvider) throws -> ResourceServer {
        try ResourceServer { request in
            let token = request.headers["Authorization"]?.split(separator: " ").last.map(String.init)
            guard let known = token.flatMap(provider.introspect(accessToken:)), known.scopes.contains("User.Read")
            else { return .unauthorized("Bearer") }
            switch request.path {
            case "/v1.0/me": return .json(#"{"displayName":"\#(known.person.name)"}"#)
            case "/v1.0/users": return .json(#"{"value":[{"displayName":"Zoë O'Brien"}]}"#)
            default: return LoopbackResponse(status: 200, text: "\(request.method) \(request.body.count)")
            }
        }
    }
}
