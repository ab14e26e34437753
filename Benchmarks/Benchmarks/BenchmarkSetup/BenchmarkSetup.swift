// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import IdentityClient
package import IdentityTesting
import Synchronization

/// A signed-in person, and copies of her record under other names in any cache.
package struct BenchmarkSetup: Sendable {
    package let provider: TestIdentityProvider
    package let transport: RepeatingTransport
    private let account: Account
    private let record: String

    package init(_ profile: TestIdentityProvider.Profile = .openIDConnect) async throws {
        provider = try TestIdentityProvider(profile: profile)
        transport = RepeatingTransport(provider.transport)
        let receiver = InMemoryRedirectReceiver()
        let cache = InMemoryTokenCache()
        var configuration = Self.configuration(cache, provider)
        configuration.transport = transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        let app = try PublicClientApplication(configuration)
        account = try await app.acquireTokenInteractively(scopes: Self.scopes).account
        // The transport repeats the answer to this refresh.
        _ = try await app.acquireTokenSilently(Self.forced(account))
        let records = try await cache.records(of: .account, in: .application(configuration.clientID))
        guard let record = records.values.first else { throw Missing() }
        self.record = String(decoding: record.bytes, as: UTF8.self)
    }

    package static let scopes: Set<Scope> = ["User.Read", "Mail.Read", "Files.Read"]
    package static let subset: Set<Scope> = ["Mail.Read", "User.Read"]
    private static let subject = TestIdentityProvider.Person.alice.subject

    /// Returns the account of the person with a number; 0 is the person who signed in.
    package func account(_ number: Int) -> Account {
        Account(id: .init(rawValue: renamed(account.id.rawValue, number)), environment: account.environment)
    }

    /// Returns a program that finds `count` accounts in its cache, each with a token of 2 KB.
    package func app(
        _ cache: any TokenCache,
        accounts count: Int,
        clock: any WallClock = SystemClock()
    ) async throws -> PublicClientApplication {
        let keys = KeyCache()
        let asking = try PublicClientApplication(Self.configuration(keys, provider))
        for number in 0..<count {
            _ = try await asking.account(withID: account(number).id)
            guard let key = keys.asked else { throw Missing() }
            _ = try await cache.replace(nil, with: CacheRecord(bytes: Array(renamed(record, number).utf8)), for: key)
        }
        var configuration = Self.configuration(cache, provider)
        configuration.transport = transport
        configuration.clock = clock
        return try PublicClientApplication(configuration)
    }

    /// Returns a program with a sign-in for an API by its address, and the token, which is bound to a key if `isBound`.
    package static func resource(isBound: Bool) async throws -> (PublicClientApplication, AuthenticationResult) {
        var settings = TestIdentityProvider.Settings(.openIDConnect)
        settings.resource = TestIdentityProvider.Resource(scopes: scopes.map(\.rawValue))
        if isBound { settings.dpop = TestIdentityProvider.DPoP(isRequired: true) }
        let provider = try TestIdentityProvider(settings: settings)
        let receiver = InMemoryRedirectReceiver()
        var configuration = configuration(InMemoryTokenCache(), provider)
        configuration.authority = try .oauth2(issuer: "\(provider.authority)", resource: provider.resourceAddress)
        if isBound { configuration.dpop = .required }
        configuration.transport = provider.transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        let app = try PublicClientApplication(configuration)
        return (app, try await app.acquireTokenInteractively(scopes: scopes))
    }

    /// A clock by which the tokens have expired.
    package var later: any WallClock { ManualClock(now: Date.now.addingTimeInterval(7200)) }

    package static func forced(_ account: Account) -> SilentParameters {
        var parameters = SilentParameters(scopes: scopes, account: account)
        parameters.forcesRefresh = true
        return parameters
    }

    private func renamed(_ text: String, _ number: Int) -> String {
        number == 0 ? text : text.replacing(Self.subject, with: "person-\(number)")
    }

    private static func configuration(
        _ cache: any TokenCache,
        _ provider: TestIdentityProvider
    ) -> ClientConfiguration {
        ClientConfiguration(clientID: "test-client", authority: provider.authority, cache: cache)
    }

    package struct Missing: Error {
        package init() {}
    }
}

/// An empty cache that records the keys it was asked for.
private final class KeyCache: TokenCache {
    private let key = Mutex<CacheKey?>(nil)

    var asked: CacheKey? { key.withLock { $0 } }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        self.key.withLock { $0 = key }
        return nil
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool { false }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] { [:] }
}
