// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTesting

/// A cache directory that many processes share, and a provider on loopback that takes a refresh token used twice for a
/// stolen one.
struct Household {
    let directory: TemporaryDirectory
    let provider: TestIdentityProvider
    let authority: Authority
    let clock: ManualClock
    let browser: ScriptedBrowser

    /// Someone signed in two hours ago, so that the access token has expired by the computer's clock and the refresh
    /// token has not.
    init(
        people: [TestIdentityProvider.Person] = [.alice],
        directory: TemporaryDirectory? = nil,
        grace: Duration = .zero
    ) async throws {
        let directory = try directory ?? TemporaryDirectory()
        let clock = ManualClock(now: Date.now.addingTimeInterval(-7200))
        var settings = TestIdentityProvider.Settings(.openIDConnect)
        settings.reuseGracePeriod = grace
        let provider = try TestIdentityProvider(clock: clock, settings: settings)
        self.directory = directory
        self.provider = provider
        self.clock = clock
        authority = try provider.listen()
        browser = ScriptedBrowser(provider: nil)
        for person in people { try await signIn(person) }
        clock.advance(by: .seconds(Date.now.timeIntervalSince(clock.now)))
        provider.forgetRequests()
    }

    /// A program in this process.
    func application() throws -> PublicClientApplication {
        var configuration = PublicClientApplication.Configuration(
            clientID: "test-client",
            authority: authority,
            cache: FileTokenCache(directory: cachePath)
        )
        configuration.browser = browser
        configuration.clock = clock
        return try PublicClientApplication(configuration)
    }

    @discardableResult
    func signIn(_ person: TestIdentityProvider.Person) async throws -> AuthenticationResult {
        browser.forgetCookies()
        browser.person = person
        return try await application().acquireTokenInteractively(scopes: ["api.read", "api.write"])
    }

    var cachePath: String { "\(directory.path)/cache" }

    /// A worker that is ready to go.
    func worker(_ arguments: String..., crash: String? = nil) async throws -> Worker {
        let worker = try Worker(
            ["--directory", cachePath, "--issuer", issuer] + arguments,
            crash: crash
        )
        try await worker.ready()
        return worker
    }

    /// Starts a worker, lets it acquire once, and gives its report.
    func acquire(_ arguments: String...) async throws -> Worker.Report? {
        let worker = try Worker(["--directory", cachePath, "--issuer", issuer] + arguments)
        worker.go()
        return try await worker.report()
    }

    /// Several workers, all ready.
    func workers(_ count: Int) async throws -> [Worker] {
        let workers = try (0..<count).map { _ in
            try Worker(["--directory", cachePath, "--issuer", issuer])
        }
        for worker in workers { try await worker.ready() }
        return workers
    }

    /// The provider's address on loopback.
    var issuer: String { authority.url }

    /// The refresh tokens that reached the provider, in order.
    var sentRefreshTokens: [String] { provider.requests.compactMap { $0["refresh_token"] } }
}

/// A directory of its own for one test, removed with it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = "\(NSTemporaryDirectory())identity-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension Household {
    /// Removes the whole directory, as a person with a file manager would.
    func removeCache() throws {
        try FileManager.default.removeItem(atPath: cachePath)
    }
}
