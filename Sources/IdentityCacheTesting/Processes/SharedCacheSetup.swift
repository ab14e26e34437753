// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import IdentityClient
package import IdentityTesting

/// A cache shared by many processes, and a loopback provider that treats a refresh token used twice as stolen.
package struct SharedCacheSetup: Sendable {
    package let provider: TestIdentityProvider
    package let authority: Authority
    package let clock: ManualClock
    package let browser: ScriptedBrowser
    package let cache: any TokenCache
    package let group: CacheGroup
    private let command: [String]
    /// Kept alive for the lifetime of this value.
    private let storage: (any Sendable)?

    /// Creates a sign-in from two hours ago. By the computer's clock the access token has expired, and the refresh
    /// token has not.
    ///
    /// - Parameters:
    ///   - cache: The cache of this process.
    ///   - command: The command that starts a worker on the same storage.
    ///   - storage: An object to keep alive for the lifetime of this value.
    ///   - group: The cache group; by default a new group of its own.
    ///   - grace: How long the provider answers a rotated refresh token once more.
    ///   - profile: The kind of provider. Its accounts decide what a cache of other programs keeps in their file.
    package init(
        _ cache: any TokenCache,
        workers command: [String],
        on storage: (any Sendable)? = nil,
        group: CacheGroup? = nil,
        people: [TestIdentityProvider.Person] = [.alice],
        grace: Duration = .zero,
        profile: TestIdentityProvider.Profile = .openIDConnect
    ) async throws {
        let clock = ManualClock(now: Date.now.addingTimeInterval(-7200))
        var settings = TestIdentityProvider.Settings(profile)
        settings.reuseGracePeriod = grace
        let provider = try TestIdentityProvider(profile: profile, clock: clock, settings: settings)
        self.cache = cache
        self.command = command
        self.storage = storage
        self.group = try group ?? TokenCacheConformance.TestedCache.randomGroup()
        self.provider = provider
        self.clock = clock
        authority = try provider.listen()
        browser = ScriptedBrowser(provider: nil)
        for person in people { try await signIn(person) }
        clock.advance(by: .seconds(Date.now.timeIntervalSince(clock.now)))
        provider.forgetRequests()
    }

    /// Returns a program in this process.
    package func application(_ clientID: ClientID = "test-client") throws -> PublicClientApplication {
        var configuration = ClientConfiguration(
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

    /// Starts a worker and waits until it is ready.
    ///
    /// - Parameter entering: The command that starts a program elsewhere, for example in another namespace.
    package func worker(
        entering: [String] = [],
        _ change: (inout WorkerOrders) -> Void = { _ in }
    ) async throws -> WorkerProcess {
        let worker = try start(entering: entering, change)
        try await worker.ready()
        return worker
    }

    /// Starts a worker, lets it act once, and returns its report.
    package func acquire(_ change: (inout WorkerOrders) -> Void = { _ in }) async throws -> WorkerReport? {
        let worker = try start(change)
        worker.go()
        return try await worker.report()
    }

    /// Starts a process that forces a new token, and returns its report. Success proves that the sign-in still works.
    package func refresh() async throws -> WorkerReport? {
        try await acquire { $0.forces = true }
    }

    /// Starts several workers and waits until all are ready.
    package func workers(
        _ count: Int,
        _ change: (inout WorkerOrders) -> Void = { _ in }
    ) async throws -> [WorkerProcess] {
        let workers = try (0..<count).map { _ in try start(change) }
        for worker in workers { try await worker.ready() }
        return workers
    }

    private func start(entering: [String] = [], _ change: (inout WorkerOrders) -> Void) throws -> WorkerProcess {
        var orders = WorkerOrders(group: group.name)
        orders.issuer = authority.url
        if case .entra = authority.kind { orders.isEntraID = true }
        change(&orders)
        return try WorkerProcess(entering + command, orders: orders)
    }

    /// The refresh tokens that reached the provider, in order.
    package var sentRefreshTokens: [String] { provider.requests.compactMap { $0["refresh_token"] } }
}
