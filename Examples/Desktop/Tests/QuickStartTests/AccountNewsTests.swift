// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import QuickStart

@Suite struct AccountNewsTests {
    private let alice = Account(id: .init(rawValue: "a"), environment: "e", username: "alice@example.test")

    @Test func tellsOfOthers() {
        var news = AccountNews()
        #expect(news.line(for: .added(alice)) == "alice@example.test has signed in, in another program.")
        #expect(news.line(for: .removed(alice)) == "alice@example.test was signed out, in another program.")
    }

    @Test func isSilentAboutItsOwn() {
        var news = AccountNews()
        news.didSignIn(alice)
        #expect(news.line(for: .added(alice)) == nil)
        news.willSignOut(alice)
        #expect(news.line(for: .removed(alice)) == nil)
    }

    @Test func tellsWhenAnotherProgramSignsOutWhoSignedInHere() {
        var news = AccountNews()
        news.didSignIn(alice)
        #expect(news.line(for: .removed(alice)) != nil)
        #expect(news.line(for: .added(alice)) != nil)
    }
}
