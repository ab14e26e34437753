// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityResources

/// Tokens that are bound to a key of the sign-in.
///
/// - SeeAlso: RFC 9449
@Suite(.timeLimit(.minutes(1)))
struct DPoPTests {
    private let cache = InMemoryTokenCache()

    private func provider(
        _ dpop: TestIdentityProvider.DPoP? = TestIdentityProvider.DPoP(isRequired: true),
        clock: any WallClock = SystemClock()
    ) throws -> TestIdentityProvider {
        var settings = TestIdentityProvider.Settings(.openIDConnect)
        settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        settings.registersClients = true
        settings.dpop = dpop
        return try TestIdentityProvider(clock: clock, settings: settings)
    }

    private func application(
        _ provider: TestIdentityProvider,
        _ policy: DPoPPolicy = .required,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> PublicClientApplication {
        let authority = try Authority.oauth2(issuer: provider.authority.url, resource: provider.resourceAddress)
        var configuration = ClientConfiguration(clientID: "test-client", authority: authority, cache: cache)
        configuration.dpop = policy
        let receiver = InMemoryRedirectReceiver()
        configuration.transport = provider.transport
        configuration.browser = ScriptedBrowser(provider: provider, signingInAs: .alice, receiver: receiver)
        configuration.redirectReceiver = receiver
        change(&configuration)
        return try PublicClientApplication(configuration)
    }

    private func call(_ application: PublicClientApplication, _ account: Account, _ address: String) async throws -> Int
    {
        let client = AuthenticatedClient(application: application, account: account, scopes: ["read"])
        return try await client.get(try #require(URL(string: address))).response.status.code
    }

    private static func claims(_ request: RecordedRequest) throws -> (header: JSONObject, claims: JSONObject) {
        let proof = try #require(request.header("DPoP"))
        let parts = try proof.split(separator: ".").map { try #require(Base64URL.decode(String($0))) }
        return (try JSONObject(parsing: parts[0]), try JSONObject(parsing: parts[1]))
    }

    /// A header field without a proof would only be refused, and nothing would say why.
    @Test func givesNoHeaderFieldWithoutItsProof() async throws {
        let provider = try provider()
        let result = try await application(provider).acquireTokenSilentlyOrInteractively(scopes: ["read"])
        var request = HTTPRequest(.get, to: try #require(URL(string: provider.resourceAddress)))
        let error = try await expectError(.invalidArgument) { try result.authorizationHeader(for: request) }
        #expect(error.message.contains("authorize(_:nonce:)"))
        try result.authorize(&request)
        #expect(request.headerFields[.authorization] == "DPoP \(result.accessToken)")
    }

    @Test func provesItsKeyWithEachRequest() async throws {
        let provider = try provider()
        let application = try application(provider)
        let result = try await application.acquireTokenSilentlyOrInteractively(scopes: ["read"])
        #expect(result.scheme == .dpop && result.tokenType == "DPoP" && result.authorizationHeader.isEmpty)
        #expect(try await call(application, result.account, provider.resourceAddress) == 200)
        var silent = SilentParameters(scopes: ["read"], account: result.account)
        silent.forcesRefresh = true
        let renewed = try await application.acquireTokenSilently(silent)
        #expect(renewed.scheme == .dpop && renewed.accessToken != result.accessToken)
        _ = try await application.signOut(result.account, parameters: SignOutParameters())
        let proven = provider.requests.filter { [.token, .resource].contains($0.endpoint) }
        let proofs = try proven.map(Self.claims)
        #expect(proofs.count == 3 && Set(proofs.map { $0.claims.string("jti") }).count == 3)
        #expect(Set(proofs.map { $0.header["jwk"]?.jsonText }).count == 1)
        #expect(proofs.map { $0.claims.string("htm") } == ["POST", "GET", "POST"])
        #expect(proofs[1].claims.string("htu") == provider.resourceAddress && proofs[1].claims["ath"] != nil)
        #expect(proofs[0].claims["ath"] == nil && proofs.allSatisfy { $0.header.string("typ") == "dpop+jwt" })
        let asked = try #require(provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["dpop_jkt"]?.utf8.count == 43)
    }

    /// As in the set-up of the article on testing: the provider and the program have a clock of the test's.
    @Test func provesItsKeyAtTheTimeOfTheConfigurationsClock() async throws {
        let clock = ManualClock()
        let provider = try provider(TestIdentityProvider.DPoP(isRequired: true, nonce: "n"), clock: clock)
        let application = try application(provider) { $0.clock = clock }
        let account = try await application.acquireTokenSilentlyOrInteractively(scopes: ["read"]).account
        #expect(try await call(application, account, provider.resourceAddress) == 200)
        clock.advance(by: .seconds(3600))
        #expect(try await call(application, account, provider.resourceAddress) == 200)
        #expect(provider.requests.filter { $0.endpoint == .token && $0["grant_type"] == "refresh_token" }.count == 1)
    }

    @Test func keepsTheKeyForAllProcesses() async throws {
        let provider = try provider()
        let account = try await application(provider).acquireTokenSilentlyOrInteractively(scopes: ["read"]).account
        let other = try application(provider)
        var silent = SilentParameters(scopes: ["read"], account: account)
        silent.forcesRefresh = true
        #expect(try await other.acquireTokenSilently(silent).scheme == .dpop)
        #expect(try await call(other, account, provider.resourceAddress) == 200)
        #expect(try await other.acquireTokenSilently(scopes: ["read"], account: account).source == .cache)
        // A program that asks for bearer tokens has accounts of its own.
        #expect(try await application(provider, .off).allAccounts().isEmpty)
        _ = try await expectError(.noTokensFound) {
            try await self.application(provider, .off).acquireTokenSilently(scopes: ["read"], account: account)
        }
    }

    /// As at every server but Microsoft's, also for a process that reads the record.
    @Test func tellsScopesApartByCase() async throws {
        let provider = try provider()
        let account = try await application(provider).acquireTokenSilentlyOrInteractively(scopes: ["Read"]).account
        let other = try application(provider)
        #expect(try await other.acquireTokenSilently(scopes: ["Read"], account: account).source == .cache)
        await #expect(throws: AuthenticationError.self) {
            try await other.acquireTokenSilently(
                SilentParameters(scopes: ["read"], account: account, usesCacheOnly: true)
            )
        }
    }

    @Test func answersTheDemandForANonceOnce() async throws {
        let provider = try provider(TestIdentityProvider.DPoP(isRequired: true, nonce: "n-1"))
        let application = try application(provider)
        let account = try await application.acquireTokenSilentlyOrInteractively(scopes: ["read"]).account
        #expect(provider.count(of: .token) == 2)
        #expect(try await call(application, account, provider.resourceAddress) == 200)
        #expect(provider.count(of: .resource) == 2)
        provider.settings.dpop?.nonce = "n-2"
        var silent = SilentParameters(scopes: ["read"], account: account)
        silent.forcesRefresh = true
        _ = try await application.acquireTokenSilently(silent)
        let last = try #require(provider.requests.last { $0.endpoint == .token })
        #expect(try Self.claims(last).claims.string("nonce") == "n-2" && provider.count(of: .token) == 4)
        // The same nonce once more would change nothing.
        provider.failNext(.token, with: .refusal("use_dpop_nonce"))
        _ = try await expectError(.serverUnavailable) { try await application.acquireTokenSilently(silent) }
        #expect(provider.count(of: .token) == 5)
        #expect(try await application.acquireTokenSilently(silent).scheme == .dpop)
    }

    @Test func takesBearerTokensOnlyWhereThePolicyAllows() async throws {
        let unable = try provider(nil)
        let bearer = try await application(unable, .whenOffered).acquireTokenSilentlyOrInteractively(scopes: ["read"])
        #expect(bearer.scheme == .bearer && unable.requests.allSatisfy { $0.header("DPoP") == nil })
        let error = try await expectError(.unsupported) {
            try await self.application(unable, .required).acquireTokenSilentlyOrInteractively(scopes: ["read"])
        }
        #expect(error.message.contains("DPoP"))
        let able = try provider(TestIdentityProvider.DPoP())
        let another = try application(able, .whenOffered) { $0.cache = InMemoryTokenCache() }
        #expect(try await another.acquireTokenSilentlyOrInteractively(scopes: ["read"]).scheme == .dpop)
        #expect(
            try await application(able, .off).acquireTokenSilentlyOrInteractively(scopes: ["read"]).scheme == .bearer
        )
        let endpoints = Authority.OAuth2Endpoints(authorization: "https://h/a", token: "https://h/t")
        for authority in [try Authority.entra(), try .oauth2(endpoints)] {
            try await expectError(.invalidArgument) {
                try self.application(able, .required) { $0.authority = authority }
            }
        }
    }

    @Test func finishesAPreparedSignInWithItsKey() async throws {
        let provider = try provider()
        let first = try application(provider)
        let request = try await first.prepareAuthorization(InteractiveParameters(scopes: ["read"]))
        let data = try request.serialized()
        let browser = ScriptedBrowser(provider: provider, signingInAs: .alice)
        browser.followsRedirects = false
        try await browser.open(request.url)
        let end = try await browser.redirectURL()
        let second = try application(provider)
        let restored = try await second.restoreAuthorization(data)
        let result = try await second.completeAuthorization(restored, with: end)
        #expect(result.scheme == .dpop)
        #expect(try await call(second, result.account, provider.resourceAddress) == 200)
    }

    @Test func aClientOfAResourceThatDemandsBoundTokensNeedsTheSetting() async throws {
        let provider = try provider()
        let resource = try await ProtectedResource.discover(
            at: provider.resourceAddress,
            transport: provider.transport
        )
        let authority = try resource.authority()
        let bound = try application(provider) { $0.authority = authority }
        let account = try await bound.acquireTokenSilentlyOrInteractively(scopes: ["read"]).account
        let error = try await expectError(.invalidArgument) {
            try AuthenticatedClient(
                application: self.application(provider, .whenOffered),
                account: account,
                resource: resource
            )
        }
        #expect(error.message.contains("dpop"))
        let client = try AuthenticatedClient(application: bound, account: account, resource: resource)
        #expect(try await client.get(try #require(URL(string: resource.identifier))).response.status == .ok)
    }

    @Test func bindsWhatAResourceDemands() async throws {
        let provider = try provider()
        var signIn = ResourceSignIn(
            provider.resourceAddress,
            software: ClientSoftware(id: "com.example.notes", name: "Notes"),
            cache: cache
        )
        let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
        signIn.transport = provider.transport
        signIn.interaction = .asking { _, _ in true }
        signIn.configure = { ($0.browser, $0.redirectReceiver) = (browser, browser.redirectReceiver) }
        let address = try #require(URL(string: signIn.address))
        #expect(try await signIn.client().get(address).response.status == .ok)
        signIn.interaction = .never
        provider.forgetRequests()
        #expect(try await signIn.client().get(address).response.status == .ok)
        #expect(provider.requests.map(\.endpoint) == [.resource])
    }
}
