// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// The actions of other processes at each point of a process's refresh. They do not wait for that process, which has
/// the lease but no lock.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StepwiseMeanwhileTests {
    @Test(arguments: Store.chosen, CrashPoint.names)
    func keepsAnAccountSignedOut(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let refresher = try await setup.refresher(at: point)
        #expect(try await !setup.tokensAtRest.isEmpty)
        #expect(try #require(try await setup.acquire { $0.removes = true }).error == nil)
        let late = try await refresher.lateReport()
        // A refresh that was stored came before the sign-out.
        #expect(late.error == (point.isStored ? nil : "interaction_required.account_removed"), "\(late)")
        #expect((late.token != nil) == point.isStored)
        #expect(setup.sentRefreshTokens.count == (point.comesBeforeReading ? 0 : 1))
        // Microsoft's endpoints take no token back.
        let isTakenBack = !point.isStored && !point.comesBeforeReading && store.profile != .entra
        #expect(setup.provider.count(of: .revocation) == (isTakenBack ? 1 : 0))
        #expect(try await setup.application().allAccounts().isEmpty)
        #expect(try await setup.tokensAtRest.isEmpty)
        #expect(try #require(try await setup.acquire()).error == "no_account")
    }

    @Test(arguments: Store.chosen, CrashPoint.names)
    func keepsANewSignIn(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let refresher = try await setup.refresher(at: point)
        let newer = try await setup.signIn(.alice)
        let credentials = try #require(try await setup.stored())
        let late = try await refresher.lateReport()
        #expect(late.error == nil && late.token != nil, "\(late)")
        #expect((late.token == newer.accessToken) == !point.isStored, "\(late)")
        #expect(setup.sentRefreshTokens.count == (point.comesBeforeReading ? 0 : 1))
        #expect(try await setup.stored() == credentials, "The newest sign-in is as it was.")
        #expect(try #require(try await setup.acquire()).token == newer.accessToken)
        #expect(try #require(try await setup.refresh()).error == nil)
        #expect(setup.sentRefreshTokens.last == credentials.refreshToken?.secret)
    }

    @Test(arguments: Store.chosen, CrashPoint.names)
    func keepsWhatAnotherClientStores(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        setup.provider.add(TestIdentityProvider.Client(id: "other-client"))
        try await setup.signIn(.alice, clientID: "other-client")
        let refresher = try await setup.refresher(at: point)
        let other = try await setup.newToken(for: "other-client")
        let late = try await refresher.lateReport()
        #expect(late.error == nil && late.source == "identityProvider", "\(late)")
        #expect(try await setup.stored("test-client")?.holds(late.token) == true)
        #expect(try await setup.stored("other-client")?.holds(other) == true)
        for client in ["test-client", "other-client"] { _ = try await setup.newToken(for: client) }
        #expect(setup.sentRefreshTokens.count == 4 && Set(setup.sentRefreshTokens).count == 4)
    }

    /// A change to the same record: the person consents to another scope, and no new refresh token is issued.
    @Test(arguments: Store.chosen, CrashPoint.names)
    func keepsATokenForAnotherScope(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let refresher = try await setup.refresher(at: point)
        setup.provider.settings.issuesRefreshTokens = false
        let granted = try await setup.signIn(.alice, scopes: ["mail.read"])
        setup.provider.settings.issuesRefreshTokens = true
        let late = try await refresher.lateReport()
        #expect(late.error == nil && late.source == "identityProvider", "\(late)")
        let credentials = try #require(try await setup.stored())
        #expect(credentials.holds(late.token) && credentials.holds(granted.accessToken))
        _ = try await setup.newToken(for: "test-client")
        #expect(setup.sentRefreshTokens.count == 2 && setup.sentRefreshTokens.last == credentials.refreshToken?.secret)
        #expect(setup.sentRefreshTokens.first != setup.sentRefreshTokens.last)
    }
}

extension String {
    /// Whether the process reads the stored record once more after this point.
    fileprivate var comesBeforeReading: Bool { ["before-lease", "after-lease"].contains(self) }
    /// Whether the new refresh token is stored at this point.
    fileprivate var isStored: Bool { ["after-write", "before-release"].contains(self) }
}

extension WorkerProcess {
    /// Lets the process go on, and returns its report.
    fileprivate func lateReport() async throws -> WorkerReport {
        goOn()
        return try #require(try await report())
    }
}

extension AccountCredentials {
    fileprivate func holds(_ accessToken: String?) -> Bool {
        accessTokens.contains { $0.secret == accessToken }
    }
}

extension SharedCacheSetup {
    /// A process that waits at that point of its refresh, and is indeed there.
    fileprivate func refresher(at point: String) async throws -> WorkerProcess {
        let before = try #require(try await stored()?.refreshToken)
        let refresher = try await worker { $0.pause = point }
        refresher.go()
        try await refresher.paused()
        let isBeforeRequest = point.comesBeforeReading || point == "before-request"
        #expect(sentRefreshTokens == (isBeforeRequest ? [] : [before.secret]))
        #expect(try await (stored()?.refreshToken != before) == point.isStored)
        #expect(try await cache.records(of: .lease, in: group).isEmpty == (point == "before-lease"))
        return refresher
    }

    /// Returns a client's credentials in the cache.
    fileprivate func stored(_ client: String = "test-client") async throws -> AccountCredentials? {
        try await cache.records(of: .account, in: group).values
            .map { try AccountCredentials(decoding: $0.bytes, rule: Authority.scopeRule(forPartition:)) }
            .first { $0.clientID == client }
    }

    /// Returns a token that a process of the client gets from the provider.
    fileprivate func newToken(for client: String) async throws -> String {
        let answer = try await acquire {
            $0.clientID = client
            $0.forces = true
        }
        let report = try #require(answer)
        #expect(report.error == nil && report.source == "identityProvider", "\(client): \(report)")
        return try #require(report.token)
    }

    /// The records of any kind that contain a token of any kind.
    fileprivate var tokensAtRest: [String] {
        get async throws {
            var found: [String] = []
            for kind in [CacheKey.Kind.account, .application, .provider, .lease] {
                let records = try await cache.records(of: kind, in: group).values
                found += records.map { String(decoding: $0.bytes, as: UTF8.self) }
                    .filter { $0.contains("\"rt-") || $0.contains("\"at-") }
            }
            return found
        }
    }
}
