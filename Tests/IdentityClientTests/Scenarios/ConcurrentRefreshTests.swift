// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// One refresh serves any number of callers, and no caller can break it for the others.
@Suite(.timeLimit(.minutes(1)))
struct ConcurrentRefreshTests {
    @Test func refreshesOnceForAHundredCallers() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account).accessToken
                }
            }
            try await setup.provider.waitForRequest(.token, count: 2)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens.count == 100 && Set(tokens).count == 1)
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func finishesForOtherCallersIfTheFirstIsCancelled() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (one, gate) = try await setup.heldRefresh(by: application, for: first.account)
        // It has joined when this returns: nothing before that waits.
        let other = Task.immediate {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        gate.open()
        #expect(try await other.value.source == .identityProvider)
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func storesTheAnswerIfEveryCallerIsCancelled() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (one, gate) = try await setup.heldRefresh(by: application, for: first.account)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        gate.open()
        try await application.finishPendingWork(within: .seconds(15))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken != first.accessToken)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func neverSendsARefreshTokenTwice(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (application, first) = try await setup.signedIn()
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        for _ in 0..<50 { _ = try await application.acquireTokenSilently(parameters) }
        let sent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count == 50 && Set(sent).count == 50)
    }

    /// Programs on one cache whose same token an API refused: the refused token is compared again under the lease.
    @Test func renewsARefusedTokenOnceForAllPrograms() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let others = try (0..<3).map { _ in try setup.application() }
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        var parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        parameters.refusedToken = first.accessToken
        let tasks = ([application] + others).map { [parameters] application in
            Task { try await application.acquireTokenSilently(parameters) }
        }
        try await setup.provider.waitForRequest(.token, count: 2)
        gate.open()
        var tokens: Set<String> = []
        for task in tasks { tokens.insert(try await task.value.accessToken) }
        #expect(tokens.count == 1 && !tokens.contains(first.accessToken))
        // A late call about the same token sends nothing.
        #expect(try await application.acquireTokenSilently(parameters).source == .cache)
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func neverSendsARefreshTokenTwiceUnderContention() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        let second = try setup.application()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                for application in [application, second] {
                    group.addTask {
                        var parameters = SilentParameters(
                            scopes: [Scope(rawValue: "api.\(number % 5)")],
                            account: first.account
                        )
                        parameters.forcesRefresh = number % 3 == 0
                        _ = try await application.acquireTokenSilently(parameters)
                    }
                }
            }
            try await group.waitForAll()
        }
        let sent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count >= 5 && Set(sent).count == sent.count)
    }

    @Test func refreshesOnceForTwoProgramsOnOneCache() async throws {
        let setup = try TestSetup()
        let (one, first) = try await setup.signedIn()
        let other = try setup.application()
        setup.clock.advance(by: .seconds(3600))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let tasks = [one, other].map { application in
            Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        }
        try await setup.provider.waitForRequest(.token, count: 2)
        gate.open()
        let results = try await (tasks[0].value, tasks[1].value)
        #expect(results.0.accessToken == results.1.accessToken)
        #expect(setup.provider.count(of: .token) == 2)
    }

    /// Taking another program's token requires neither the provider's documents nor a connection.
    @Test func sendsNoRequestWhileAnotherProgramRefreshes() async throws {
        let cache = CountingCache()
        let setup = try TestSetup(cache: cache)
        let (holder, first) = try await setup.signedIn()
        let transport = RecordingTransport(setup.provider.transport)
        let other = try setup.application { $0.transport = transport }
        let group = CacheGroup.application(holder.configuration.clientID)
        for (key, record) in try await cache.records(of: .provider, in: group) {
            #expect(try await cache.replace(record, with: nil, for: key))
        }
        let (one, gate) = try await setup.heldRefresh(by: holder, for: first.account)
        let reads = cache.state.value.reads
        let two = Task { try await other.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        // The reads: the sign-in, the lease, and the lease again after listening has begun.
        while cache.state.value.reads < reads + 3 { await Task.yield() }
        gate.open()
        #expect(try await two.value.accessToken == one.value.accessToken)
        #expect(transport.requests.isEmpty)
    }

    /// The old token is still good for two minutes.
    @Test func handsOutNoTokenOfAnAccountThatAnotherProcessSignedOut() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600 - 120))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let task = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        try await setup.provider.waitForRequest(.token, count: 2)
        try await setup.application().remove(first.account)
        gate.open()
        try await expectError(.accountRemoved) { try await task.value }
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func signsOutDuringARefresh(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        try await application.remove(first.account)
        gate.open()
        try await expectError(.accountRemoved) { try await task.value }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        #expect(try await application.allAccounts().isEmpty)
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    /// The new sign-in uses the refresh token that the refresh has just spent.
    @Test func keepsTheRotatedTokenIfAConcurrentSignInBroughtNone() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        setup.provider.failNext(.token, with: .changing("refresh_token", to: nil))
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        gate.open()
        _ = try await task.value
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        let sent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    @Test func anOldRefreshDoesNotReplaceANewSignIn() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        try await application.remove(first.account)
        let again = try await application.acquireTokenInteractively(scopes: ["api.read"])
        gate.open()
        // The waiting caller gets the new sign-in's token or an error, never the token of the old sign-in.
        let late = try? await task.value
        #expect(late == nil || late?.accessToken == again.accessToken)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == again.accessToken)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }
}
