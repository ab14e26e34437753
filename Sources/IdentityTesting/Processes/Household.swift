// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import IdentityClient

/// A cache that many processes share, and a provider on loopback that takes a refresh token used twice for a stolen one.
package struct Household: Sendable {
    package let provider: TestIdentityProvider
    package let authority: Authority
    package let clock: ManualClock
    package let browser: ScriptedBrowser
    package let cache: any TokenCache
    package let group: CacheGroup
    private let command: [String]
    /// Kept for as long as this is.
    private let storage: (any Sendable)?

    /// Someone signed in two hours ago, so that the access token has expired by the computer's clock and the refresh
    /// token has not.
    ///
    /// - Parameters:
    ///   - cache: The cache of this process.
    ///   - command: What starts a worker on the same storage.
    ///   - storage: What has to live as long as this.
    ///   - group: One of its own unless given.
    ///   - grace: For how long the provider answers a refresh token once more.
    package init(
        _ cache: any TokenCache,
        workers command: [String],
        on storage: (any Sendable)? = nil,
        group: CacheGroup? = nil,
        people: [TestIdentityProvider.Person] = [.alice],
        grace: Duration = .zero
    ) async throws {
        let clock = ManualClock(now: Date.now.addingTimeInterval(-7200))
        var settings = TestIdentityProvider.Settings(.openIDConnect)
        settings.reuseGracePeriod = grace
        let provider = try TestIdentityProvider(clock: clock, settings: settings)
        self.cache = cache
        self.command = command
        self.storage = storage
        self.group = try group ?? TokenCacheConformance.Room.randomGroup()
        self.provider = provider
        self.clock = clock
        authority = try provider.listen()
        browser = ScriptedBrowser(provider: nil)
        for person in people { try await signIn(person) }
        clock.advance(by: .seconds(Date.now.timeIntervalSince(clock.now)))
        provider.forgetRequests()
    }

    /// A program in this process.
    package func application(_ clientID: ClientID = "test-client") throws -> PublicClientApplication {
        var configuration = PublicClientApplication.Configuration(
            clientID: clientID,
            authority: authority,
            cache: cache
        )
        configuration.cacheGroup = group
        configuration.browser = browser
        configuration.clock = clock
        return try PublicClientApplication(configuration)
    }

    @discardableResult
    package func signIn(
        _ person: TestIdentityProvider.Person,
        scopes: Set<Scope> = ["api.read", "api.write"],
        clientID: ClientID = "test-client"
    ) async throws -> AuthenticationResult {
        browser.forgetCookies()
        browser.person = person
        return try await application(clientID).acquireTokenInteractively(scopes: scopes)
    }

    /// A worker that is ready to go.
    package func worker(_ change: (inout WorkerOrders) -> Void = { _ in }) async throws -> WorkerProcess {
        let worker = try start(change)
        try await worker.ready()
        return worker
    }

    /// Starts a worker, lets it act once, and gives its report.
    package func acquire(_ change: (inout WorkerOrders) -> Void = { _ in }) async throws -> WorkerReport? {
        let worker = try start(change)
        worker.go()
        return try await worker.report()
    }

    /// The report of a process that gets a new token whatever it finds: its success says that the sign-in is alive.
    package func refresh() async throws -> WorkerReport? {
        try await acquire { $0.forces = true }
    }

    /// Several workers, all ready.
    package func workers(
        _ count: Int,
        _ change: (inout WorkerOrders) -> Void = { _ in }
    ) async throws -> [WorkerProcess] {
        let workers = try (0..<count).map { _ in try start(change) }
        for worker in workers { try await worker.ready() }
        return workers
    }

    private func start(_ change: (inout WorkerOrders) -> Void) throws -> WorkerProcess {
        var orders = WorkerOrders(group: group.name)
        orders.issuer = authority.url
        change(&orders)
        return try WorkerProcess(command, orders: orders)
    }

    /// The refresh tokens that reached the provider, in order.
    package var sentRefreshTokens: [String] { provider.requests.compactMap { $0["refresh_token"] } }
}
