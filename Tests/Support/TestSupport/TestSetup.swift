// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import IdentityClient
package import IdentityTesting
import Testing

/// A provider, a person in front of a browser, a clock that stands still, and programs that use them.
package struct TestSetup {
    package let clock: ManualClock
    package let provider: TestIdentityProvider
    package let transport: RecordingTransport
    package let receiver: InMemoryRedirectReceiver
    package let browser: ScriptedBrowser
    package let cache: any TokenCache
    private let listensOnLoopback: Bool

    package init(
        _ profile: TestIdentityProvider.Profile = .openIDConnect,
        cache: any TokenCache = InMemoryTokenCache(),
        clients: [TestIdentityProvider.Client] = [TestIdentityProvider.Client()],
        listensOnLoopback: Bool = false,
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) throws {
        var settings = TestIdentityProvider.Settings(profile)
        change(&settings)
        clock = ManualClock()
        provider = try TestIdentityProvider(profile: profile, clock: clock, clients: clients, settings: settings)
        transport = RecordingTransport(provider.transport)
        receiver = InMemoryRedirectReceiver()
        browser = ScriptedBrowser(provider: provider, receiver: listensOnLoopback ? nil : receiver)
        self.cache = cache
        self.listensOnLoopback = listensOnLoopback
    }

    /// A program with this setup's parts; `change` replaces some of them.
    package func application(
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> PublicClientApplication {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: cache
        )
        configuration.transport = transport
        configuration.browser = browser
        if !listensOnLoopback { configuration.redirectReceiver = receiver }
        configuration.clock = clock
        change(&configuration)
        return try PublicClientApplication(configuration)
    }

    /// The program, and Alice signed in to it.
    package func signedIn(
        scopes: Set<Scope> = ["api.read"],
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> (PublicClientApplication, AuthenticationResult) {
        let application = try application(change)
        return (application, try await application.acquireTokenInteractively(scopes: scopes))
    }

    /// A refresh under way: the access token has expired, and the provider answers when the gate is opened.
    package func heldRefresh(
        by application: PublicClientApplication,
        for account: Account
    ) async throws -> (task: Task<AuthenticationResult, any Error>, gate: TestGate) {
        clock.advance(by: .seconds(3600))
        let (gate, requests) = (TestGate(), provider.count(of: .token))
        provider.failNext(.token, with: .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: account) }
        try await provider.waitForRequest(.token, count: requests + 1)
        return (task, gate)
    }

    /// The accounts' records in the program's own group.
    package func storedCredentials(of application: PublicClientApplication) async throws -> [CacheKey: CacheRecord] {
        let group = application.configuration.cacheGroup ?? .application(application.configuration.clientID)
        return try await cache.records(of: .account, in: group)
    }

    /// Returns the tokens in the accounts' records, without the provider's refusals.
    package func storedTokens(of application: PublicClientApplication) async throws -> [AccountCredentials] {
        try await storedCredentials(of: application).values.map { record in
            var credentials = try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
            credentials.refreshToken?.refusals = []
            return credentials
        }
        .sorted { $0.accountID.rawValue < $1.accountID.rawValue }
    }
}
