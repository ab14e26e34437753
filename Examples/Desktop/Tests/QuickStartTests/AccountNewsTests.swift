// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import QuickStart

@Suite struct AccountNewsTests {
    private let alice = Account(id: .init(rawValue: "a"), environment: "e", username: "alice@example.test")
    private let bob = Account(id: .init(rawValue: "b"), environment: "e", username: "bob@example.test")

    @Test func tellsOfOthers() {
        var news = AccountNews()
        #expect(news.line(for: .added(alice)) == "alice@example.test has signed in, in another program.")
        #expect(news.line(for: .removed(alice)) == "alice@example.test was signed out, in another program.")
    }

    @Test func isSilentAboutItsOwn() {
        var news = AccountNews()
        news.willSignIn()
        #expect(news.line(for: .added(alice)) == nil)
        #expect(news.didSignIn(alice).isEmpty)
        news.willSignOut(alice)
        #expect(news.line(for: .removed(alice)) == nil)
        #expect(news.line(for: .removed(alice)) != nil)
    }

    /// The news of a sign-in may come after its end: the call of Graph that follows is cancelled, or fails.
    @Test func isSilentAboutItsOwnSignInThatIsReportedLate() {
        var news = AccountNews()
        news.willSignIn()
        #expect(news.didSignIn(alice).isEmpty)
        #expect(news.didSignIn(nil).isEmpty)
        #expect(news.line(for: .added(alice)) == nil)
        #expect(news.line(for: .added(alice)) != nil)
    }

    @Test func tellsLaterOfWhoCameMeanwhile() {
        var news = AccountNews()
        news.willSignIn()
        #expect(news.line(for: .added(bob)) == nil)
        #expect(news.didSignIn(alice) == ["bob@example.test has signed in, in another program."])
        #expect(news.line(for: .added(bob)) != nil)
    }

    @Test func tellsOfEverybodyAfterASignInThatFailed() {
        var news = AccountNews()
        news.willSignIn()
        #expect(news.line(for: .added(bob)) == nil)
        #expect(news.didSignIn(nil).count == 1)
    }
}
