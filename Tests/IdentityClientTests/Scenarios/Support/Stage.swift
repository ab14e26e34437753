// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

/// A provider, a person with a browser, a manual clock, and programs that use them.
struct Stage {
    let clock: ManualClock
    let provider: TestIdentityProvider
    let transport: RecordingTransport
    let receiver: InMemoryRedirectReceiver
    let browser: ScriptedBrowser
    let cache: any TokenCache
    private let listensOnLoopback: Bool

    init(
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

    /// Makes a program with this stage's parts, some of which `change` may replace.
    func application(
        _ change: (inout PublicClientApplication.Configuration) -> Void = { _ in }
    ) throws -> PublicClientApplication {
        var configuration = PublicClientApplication.Configuration(
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

    /// Makes a program and signs Alice in to it.
    func signedIn(
        scopes: Set<Scope> = ["api.read"],
        _ change: (inout PublicClientApplication.Configuration) -> Void = { _ in }
    ) async throws -> (PublicClientApplication, AuthenticationResult) {
        let application = try application(change)
        return (application, try await application.acquireTokenInteractively(scopes: scopes))
    }

    /// Starts a refresh: the access token has expired, and the provider answers when the gate is opened.
    func heldRefresh(
        by application: PublicClientApplication,
        for account: Account
    ) async throws -> (task: Task<AuthenticationResult, any Error>, gate: Gate) {
        clock.advance(by: .seconds(3600))
        let (gate, requests) = (Gate(), provider.count(of: .token))
        provider.failNext(.token, with: .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: account) }
        try await provider.waitForRequest(.token, count: requests + 1)
        return (task, gate)
    }

    /// The accounts' records in the program's own group.
    func storedCredentials(of application: PublicClientApplication) async throws -> [CacheKey: CacheRecord] {
        let group = application.configuration.cacheGroup ?? .application(application.configuration.clientID)
        return try await cache.records(of: .account, in: group)
    }

    /// The contents of these records, without noted refusals.
    func storedTokens(of application: PublicClientApplication) async throws -> [AccountCredentials] {
        try await storedCredentials(of: application).values.map { record in
            var credentials = try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
            credentials.refreshToken?.refusals = []
            return credentials
        }
        .sorted { $0.accountID.rawValue < $1.accountID.rawValue }
    }
}
