// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// The tokens of a program that runs for long, by a clock that the test moves.
@Suite(.timeLimit(.minutes(1)))
struct LiveTokensTests {
    private func iterator(
        _ application: PublicClientApplication,
        _ account: Account,
        draw: Double = 0,
        _ change: (inout SilentParameters) -> Void = { _ in }
    ) -> LiveTokens.AsyncIterator {
        var parameters = SilentParameters(scopes: ["api.read"], account: account)
        change(&parameters)
        return LiveTokens(application: application, parameters: parameters, draw: { _ in draw }).makeAsyncIterator()
    }

    /// Awaits the next token beside the test, which moves the clock by steps of at most a minute until it is there.
    private func next(
        _ iterator: inout LiveTokens.AsyncIterator,
        _ setup: TestSetup,
        steps: [Int]
    ) async throws -> AuthenticationResult? {
        let task = awaiting(iterator)
        defer { task.cancel() }
        for step in steps {
            try await setup.clock.waitForSleepers()
            setup.clock.advance(by: .seconds(step))
        }
        let (result, moved) = await task.value
        iterator = moved
        return try result.get()
    }

    private typealias Awaited = (Result<AuthenticationResult?, any Error>, LiveTokens.AsyncIterator)

    private func awaiting(_ iterator: LiveTokens.AsyncIterator) -> Task<Awaited, Never> {
        Task {
            var iterator = iterator
            do {
                let result = try await iterator.next()
                return (.success(result), iterator)
            } catch {
                return (.failure(error), iterator)
            }
        }
    }

    @Test(arguments: [(0.0, 300), (1.0, 600)]) func renewsInTime(draw: Double, margin: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account, draw: draw)
        #expect(try await tokens.next()?.accessToken == first.accessToken)
        let minutes = Array(repeating: 60, count: (3600 - margin) / 60)
        let second = try #require(try await next(&tokens, setup, steps: minutes))
        #expect(second.source == .identityProvider && second.accessToken != first.accessToken)
        #expect(second.expiresOn == first.expiresOn.addingTimeInterval(Double(3600 - margin)))
        #expect(setup.provider.count(of: .token) == 2)
        let third = try #require(try await next(&tokens, setup, steps: minutes))
        #expect(third.accessToken != second.accessToken && setup.provider.count(of: .token) == 3)
    }

    /// A computer that slept, or a program that was busy.
    @Test func givesAValidTokenAfterALongPause() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account)
        _ = try await tokens.next()
        let second = try #require(try await next(&tokens, setup, steps: [50_000]))
        #expect(second.expiresOn > setup.clock.now && second.expiredFor == nil)
    }

    @Test func takesATokenThatAnotherCallRenewed() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account)
        _ = try await tokens.next()
        let forced = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        let renewed = try await application.acquireTokenSilently(forced)
        #expect(try await next(&tokens, setup, steps: [60])?.accessToken == renewed.accessToken)
    }

    @Test func triesOnWhileTheTokenIsValidAndThenThrows() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account)
        _ = try await tokens.next()
        setup.clock.advance(by: .seconds(3240))
        setup.transport.isOffline = true
        // 60 s until it is due, pauses of 5, 10, 20, 40 and 60 s; then the network is there again.
        let task = awaiting(tokens)
        for step in [60, 5, 10, 20, 40] {
            try await setup.clock.waitForSleepers()
            setup.clock.advance(by: .seconds(step))
        }
        try await setup.clock.waitForSleepers()
        setup.transport.isOffline = false
        setup.clock.advance(by: .seconds(60))
        let second: Result<AuthenticationResult?, any Error>
        (second, tokens) = await task.value
        #expect(try second.get()?.source == .identityProvider)

        setup.transport.isOffline = true
        setup.clock.advance(by: .seconds(3595))
        try await expectError(.connectionFailed) { try await next(&tokens, setup, steps: [60]) }
        #expect(try await tokens.next() == nil, "It has ended.")
    }

    @Test func goesOnAfterAnOutageOfAnyLength() async throws {
        let setup = try TestSetup { $0.accessTokenLifetime = .seconds(600) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(7200))
        setup.transport.isOffline = true
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account)
        var tokens = application.liveTokens(parameters).waitingOutOutages().makeAsyncIterator()
        // No token can be had at the beginning, with pauses of 5, 10, 20, 40, 60 and 60 s.
        var task = awaiting(tokens)
        for step in [5, 10, 20, 40, 60] {
            try await setup.clock.waitForSleepers()
            setup.clock.advance(by: .seconds(step))
        }
        try await setup.clock.waitForSleepers()
        setup.transport.isOffline = false
        setup.clock.advance(by: .seconds(60))
        var (result, moved) = await task.value
        let second = try #require(try result.get())
        #expect(second.source == .identityProvider)

        // The token ends in an outage, and the sequence waits on.
        tokens = moved
        setup.transport.isOffline = true
        task = awaiting(tokens)
        for _ in 0..<12 {
            try await setup.clock.waitForSleepers()
            setup.clock.advance(by: .seconds(60))
        }
        #expect(setup.clock.now > second.expiresOn)
        try await setup.clock.waitForSleepers()
        setup.transport.isOffline = false
        setup.clock.advance(by: .seconds(60))
        (result, moved) = await task.value
        #expect(try result.get()?.source == .identityProvider)

        // A person is not waited for.
        setup.provider.revokeSessions(of: .alice)
        setup.clock.advance(by: .seconds(7200))
        tokens = moved
        try await expectError(.signInExpired) { try await next(&tokens, setup, steps: [60]) }
    }

    @Test func throwsAtOnceIfAPersonIsNeeded() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account)
        _ = try await tokens.next()
        setup.provider.failAlways(.token, with: .refusal("invalid_grant"))
        setup.clock.advance(by: .seconds(3300))
        try await expectError(.signInExpired) { try await next(&tokens, setup, steps: [1]) }

        // A sign-out is noticed within a minute.
        let other = try TestSetup()
        let (program, signIn) = try await other.signedIn()
        var more = iterator(program, signIn.account)
        _ = try await more.next()
        try await program.remove(signIn.account)
        try await expectError(.noTokensFound) { try await next(&more, other, steps: [60]) }
    }

    @Test func endsOnCancellation() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let count = Task {
            var count = 0
            for try await _ in application.liveTokens(.init(scopes: ["api.read"], account: first.account)) {
                count += 1
            }
            return count
        }
        try await setup.clock.waitForSleepers()
        count.cancel()
        #expect(try await count.value == 1)
    }

    @Test func forcesTheFirstTokenOnly() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var tokens = iterator(application, first.account) { $0.forcesRefresh = true }
        #expect(try await tokens.next()?.source == .identityProvider)
        _ = try await next(&tokens, setup, steps: Array(repeating: 60, count: 55))
        #expect(setup.provider.count(of: .token) == 3)
        var wrong = iterator(application, first.account) { $0.usesCacheOnly = true }
        try await expectError(.invalidArgument) { try await wrong.next() }
    }

    /// An API may accept such a token; the program sees that it is one.
    @Test func marksATokenInItsExtendedLifetime() async throws {
        let setup = try TestSetup(.entra) { $0.extendedLifetime = .seconds(7200) }
        let (application, first) = try await setup.signedIn { $0.entra.allowsExtendedLifetime = true }
        var tokens = iterator(application, first.account)
        _ = try await tokens.next()
        setup.transport.isOffline = true
        setup.clock.advance(by: .seconds(3598))
        let extended = try await next(&tokens, setup, steps: [2])
        #expect(extended?.isExtendedLifetimeToken == true && extended?.accessToken == first.accessToken)
        setup.transport.isOffline = false
        let second = try await next(&tokens, setup, steps: [5])
        #expect(second?.source == .identityProvider && second?.expiredFor == nil)
    }
}
