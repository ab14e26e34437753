// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Synchronization
import Testing

@testable import IdentityResources

/// Sign-ins for an API whose address is all that the program knows.
@Suite(.timeLimit(.minutes(1)))
final class ResourceSignInTests: Sendable {
    private let cache = InMemoryTokenCache()
    private let asked = Mutex<[String]>([])

    private func provider(
        scopes: [String] = ["read"],
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) throws -> TestIdentityProvider {
        var settings = TestIdentityProvider.Settings(.openIDConnect)
        settings.resource = TestIdentityProvider.Resource(scopes: scopes)
        settings.registersClients = true
        change(&settings)
        return try TestIdentityProvider(clients: [], settings: settings)
    }

    private func signIn(_ provider: TestIdentityProvider, agrees: Bool = true) -> ResourceSignIn {
        let software = ClientSoftware(id: "com.example.notes", name: "Notes")
        var signIn = ResourceSignIn(provider.resourceAddress, software: software, cache: cache)
        signIn.transport = provider.transport
        let receiver = InMemoryRedirectReceiver()
        let browser = ScriptedBrowser(provider: provider, signingInAs: .alice, receiver: receiver)
        signIn.configure = {
            $0.browser = browser
            $0.redirectReceiver = receiver
        }
        signIn.interaction = .asking { resource, authority in
            self.asked.withLock { $0.append("\(resource.identifier) \(authority.url)") }
            return agrees
        }
        return signIn
    }

    private func call(_ client: AuthenticatedClient, _ address: String) async throws -> (Int, JSONObject?) {
        let (response, body) = try await client.get(try #require(URL(string: address)))
        return (response.status.code, try? JSONObject(parsing: body))
    }

    @Test func callsAnAPIOfWhichItKnowsTheAddressAlone() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let (status, answer) = try await call(signIn.client(), signIn.address)
        #expect(status == 200 && answer?.string("sub") == "subject-alice")
        // The server publishes offline_access.
        #expect(answer?.strings("scope") == ["read", "offline_access"])
        #expect(asked.withLock(\.self) == ["\(signIn.address) \(provider.authority.url)"])
        #expect(provider.count(of: .registration) == 1 && provider.count(of: .authorization) == 1)
    }

    @Test func asksNobodyAboutWhatItKnows() async throws {
        let provider = try provider()
        _ = try await signIn(provider).client()
        provider.forgetRequests()
        // Another process of the program, and an address below that of the API.
        var later = signIn(provider)
        later.address += "/tools/list?all=1"
        later.interaction = .never
        let client = try await later.client()
        #expect(provider.requests.isEmpty)
        let (status, _) = try await call(client, later.address)
        #expect(status == 200 && provider.requests.map(\.endpoint) == [.resource])
        #expect(asked.withLock(\.count) == 1)
    }

    @Test func opensOnePageForAllCallers() async throws {
        let provider = try provider()
        let callers = (0..<20).map { _ in Task { try await self.signIn(provider).client() } }
        for caller in callers { _ = try await caller.value }
        #expect(provider.count(of: .registration) == 1 && provider.count(of: .authorization) == 1)
        #expect(asked.withLock(\.count) == 1)
    }

    @Test func signsInOnlyWithThePersonsConsent() async throws {
        let provider = try provider()
        var refused = signIn(provider, agrees: false)
        _ = try await expectError(.userCancelled) { try await refused.client() }
        #expect(provider.count(of: .authorization) == 0 && provider.count(of: .registration) == 0)
        // A server that the program names is known.
        refused.issuer = provider.authority.url
        _ = try await refused.client()
        #expect(asked.withLock(\.count) == 1)
    }

    /// A client ID says nothing about which server is trusted: the resource still chooses it.
    @Test func aClientIDAnswersNoQuestion() async throws {
        let provider = try provider()
        provider.add(TestIdentityProvider.Client(id: "usual"))
        var signIn = signIn(provider, agrees: false)
        signIn.clientID = "usual"
        _ = try await expectError(.userCancelled) { try await signIn.client() }
        #expect(asked.withLock(\.count) == 1 && provider.count(of: .authorization) == 0)
    }

    /// The browser that the program sets has to ask as well.
    @Test func aBrowserOfTheProgramDropsNoQuestion() async throws {
        let provider = try provider()
        var signIn = signIn(provider)
        signIn.interaction = .browser
        let error = try await expectError(.invalidArgument) { try await signIn.client() }
        #expect(error.message.contains(".asking"))
        signIn.configure = { $0.browser = SystemBrowserLauncher(command: ["/bin/false"]) }
        _ = try await expectError(.browserUnavailable) { try await signIn.client() }
        #expect(provider.count(of: .registration) == 0 && provider.count(of: .authorization) == 0)
    }

    /// A server that publishes no methods may still check them, as Entra ID; one that publishes others does not.
    @Test func takesAServerWithoutMethodsOfPKCEIfTheProgramSaysSo() async throws {
        let provider = try provider { $0.advertisesS256 = false }
        var signIn = signIn(provider)
        let error = try await expectError(.unsupported) { try await signIn.client() }
        #expect(error.message.contains("assumesPKCE") && provider.count(of: .authorization) == 0)
        signIn.assumesPKCE = true
        let (status, _) = try await call(signIn.client(), signIn.address)
        #expect(status == 200)
    }

    @Test func saysThatAPersonIsNeeded() async throws {
        let provider = try provider()
        var signIn = signIn(provider)
        signIn.interaction = .never
        let error = try await expectError(.noTokensFound) { try await signIn.client() }
        #expect(error.message.contains(signIn.address) && provider.requests.isEmpty)
    }

    /// The union of what was asked before and of what the API demands.
    @Test func asksForMoreScopesAsWell() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        provider.settings.resource?.demandedScopes = ["write"]
        let (status, answer) = try await call(client, signIn.address)
        #expect(status == 200 && Set(answer?.strings("scope") ?? []) == ["read", "write", "offline_access"])
        #expect(provider.count(of: .authorization) == 2)
        // The other processes find them, too.
        provider.forgetRequests()
        let (again, _) = try await call(self.signIn(provider).client(), signIn.address)
        #expect(again == 200 && provider.requests.map(\.endpoint) == [.resource])
    }

    @Test func signsInThreeTimesForACallAtMost() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        provider.settings.declinedScopes = ["write"]
        provider.settings.resource?.demandedScopes = ["write"]
        _ = try await expectError(.insufficientScope) { try await call(client, signIn.address) }
        #expect(provider.count(of: .authorization) == 4)
    }

    @Test func signsInAgainWhereTheSignInHasEnded() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        provider.revokeSessions(of: .alice)
        let (status, _) = try await call(client, signIn.address)
        #expect(status == 200 && provider.count(of: .registration) == 1 && asked.withLock(\.count) == 1)
        #expect(try await client.application.allAccounts().count == 1)
    }

    /// The settings count after the first sign-in as before it.
    @Test func usesNoSignInThatTheSettingsDoNotWant() async throws {
        let provider = try provider { $0.dpop = TestIdentityProvider.DPoP() }
        _ = try await signIn(provider).client()
        let changes: [@Sendable (inout ResourceSignIn) -> Void] = [
            { $0.dpop = .required }, { $0.issuer = "https://another.example" }, { $0.clientID = "by-hand" },
        ]
        for change in changes {
            var later = signIn(provider)
            later.interaction = .never
            change(&later)
            _ = try await expectError(.noTokensFound) { try await later.client() }
        }
        var bound = signIn(provider)
        bound.dpop = .required
        let client = try await bound.client()
        #expect(
            try await client.application.acquireTokenSilently(scopes: client.scopes, account: client.account).scheme
                == .dpop
        )
        // A program that asks for less takes what there is, and no person is asked again about the same server.
        var later = signIn(provider)
        later.interaction = .never
        later.issuer = provider.authority.url
        #expect(try await call(later.client(), later.address).0 == 200)
        var other = signIn(provider)
        other.issuer = "https://another.example"
        _ = try await expectError(.untrustedAuthority) { try await other.client() }
        #expect(asked.withLock(\.count) == 1)
    }

    /// Before a page is opened where the sign-in has ended, the resource is asked.
    @Test func signsInAgainAtNoServerThatTheResourceDoesNotName() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        provider.revokeSessions(of: .alice)
        provider.settings.resource?.authorizationServers = ["https://evil.example"]
        _ = try await expectError(.untrustedAuthority) { try await call(client, signIn.address) }
        #expect(provider.count(of: .authorization) == 1)
    }

    /// Every kind of call signs in again, and stays below the resource.
    @Test(arguments: ["get", "stream", "upload", "download"])
    func everyKindOfCallSignsInAgainAndStaysInItsPlace(_ kind: String) async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("again-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let send = { @Sendable (address: String) async throws -> Int in
            let url = try #require(URL(string: address))
            switch kind {
            case "get": return try await client.get(url).response.status.code
            case "stream": return try await client.stream(HTTPRequest(.get, to: url)).response.status.code
            case "upload":
                return try await client.upload(.bytes([1]), with: HTTPRequest(.post, to: url)).value.0.status.code
            default: return try await client.download(HTTPRequest(.get, to: url), to: path).value.0.status.code
            }
        }
        provider.revokeSessions(of: .alice)
        #expect(try await send(signIn.address) == 200 && provider.count(of: .authorization) == 2)
        provider.forgetRequests()
        _ = try await expectError(.invalidArgument) { try await send(signIn.address + "-of-another") }
        #expect(provider.requests.isEmpty)
    }

    /// The server has forgotten the client of a sign-in that exists: a person is needed, and the program is registered anew. A
    /// daemon keeps what it has.
    @Test func registersAnewWhereARefreshIsRefused() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let (client, refused) = (
            try await signIn.client(), TestIdentityProvider.Fault.refusal("invalid_client", status: 401)
        )
        let unauthorized = TestIdentityProvider.Fault.refusal("invalid_token", status: 401)
        var daemon = signIn
        daemon.interaction = .never
        let quiet = try await daemon.client()
        provider.failNext(.resource, with: unauthorized)
        provider.failNext(.token, with: refused)
        _ = try await expectError(.loginRequired) { try await call(quiet, signIn.address) }
        // The server has recovered.
        provider.failNext(.resource, with: unauthorized)
        #expect(try await call(quiet, signIn.address).0 == 200 && provider.count(of: .registration) == 1)
        provider.failNext(.resource, with: unauthorized)
        provider.failNext(.token, with: refused)
        #expect(try await call(client, signIn.address).0 == 200)
        #expect(provider.count(of: .registration) == 2 && provider.count(of: .authorization) == 2)
        #expect(asked.withLock(\.count) == 1)
    }

    @Test func followsNoOtherServerThanBefore() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        try await client.application.remove(client.account)
        provider.settings.resource?.authorizationServers = ["https://evil.example"]
        let error = try await expectError(.untrustedAuthority) { try await signIn.client() }
        #expect(error.message.contains("evil.example") && error.message.contains(provider.authority.url))
    }

    @Test func registersAnewOnceWhereTheServerHasForgottenTheClient() async throws {
        let provider = try provider()
        let signIn = signIn(provider)
        let client = try await signIn.client()
        try await client.application.remove(client.account)
        provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let second = try await signIn.client()
        #expect(provider.count(of: .registration) == 2)
        try await second.application.remove(second.account)
        let fault = TestIdentityProvider.Fault.refusal("invalid_client", status: 401)
        provider.failNext(.token, with: fault, fault)
        _ = try await expectError(.clientNotRegistered) { try await signIn.client() }
        #expect(provider.count(of: .registration) == 3)
    }

    @Test func takesTheClientThatWasRegisteredByHand() async throws {
        let provider = try provider { $0.registersClients = false }
        var signIn = signIn(provider)
        let error = try await expectError(.clientNotRegistered) { try await signIn.client() }
        #expect(error.message.contains("http://127.0.0.1/callback"))
        provider.add(TestIdentityProvider.Client(id: "by-hand"))
        signIn.clientID = "by-hand"
        let (status, _) = try await call(signIn.client(), signIn.address)
        #expect(status == 200)
    }
}
