// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@testable import IdentityWebView

@Suite(.timeLimit(.minutes(1))) struct PendingSignInTests {
    private let url: URL
    private let signIn: PendingSignIn

    init() throws {
        url = try #require(URL(string: "app://auth?code=1"))
        signIn = PendingSignIn(redirectURI: try #require(URL(string: "app://auth")))
    }

    @Test func handsOnInOrderWhatCameBeforeAndAfterTheQuestion() async throws {
        signIn.take(url)
        #expect(try await signIn.next().url == url)
        async let next = signIn.next()
        let other = try #require(URL(string: "app://auth?code=2"))
        signIn.take(other)
        #expect(try await next.url == other)
    }

    @Test func keepsNoMoreThanSixteen() async throws {
        for _ in 0..<20 { signIn.take(url) }
        for _ in 0..<16 { _ = try await signIn.next() }
        signIn.windowIsGone()
        await #expect(throws: AuthenticationError.self) { try await signIn.next() }
    }

    @Test func endsAtOnceWhenTheWindowIsGone() async {
        let next = Task { [signIn] in try await signIn.next() }
        signIn.windowIsGone()
        await #expect { try await next.value } throws: { ($0 as? AuthenticationError)?.family == .userCancelled }
        await #expect { try await signIn.next() } throws: { ($0 as? AuthenticationError)?.family == .userCancelled }
    }

    @Test func endsWhenItIsClosed() async {
        let next = Task { [signIn] in try await signIn.next() }
        signIn.end(CancellationError())
        await #expect(throws: CancellationError.self) { try await next.value }
        signIn.take(url)
        await #expect(throws: CancellationError.self) { try await signIn.next() }
    }

    @Test func endsWhenTheTaskIsCancelled() async {
        let task = Task { [signIn] in try await signIn.next() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
