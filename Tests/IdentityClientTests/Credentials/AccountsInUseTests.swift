// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

/// The current account, the previous one, and the one that the next sign-in must ask for.
@Suite struct AccountsInUseTests {
    private let alice = Account(id: Account.ID(rawValue: "a"), environment: "id.test", username: "Alice@id.test")
    private let bob = Account(id: Account.ID(rawValue: "b"), environment: "id.test", username: "bob@id.test")

    @Test func followsWhoSignsInAndOut() throws {
        var inUse = AccountsInUse()
        #expect(inUse.accounts(among: []) == CurrentAccount(current: nil))
        inUse.signIn(alice)
        #expect(inUse.accounts(among: [alice]) == CurrentAccount(current: alice))
        inUse.signOut(alice)
        #expect(inUse.accounts(among: []) == CurrentAccount(current: nil, previous: alice))
        inUse.signIn(bob)
        #expect(inUse.accounts(among: [bob]) == CurrentAccount(current: bob, previous: alice))
        inUse.signIn(alice)
        #expect(inUse.accounts(among: [alice, bob]) == CurrentAccount(current: alice, previous: bob))
        inUse.signOut(bob)
        #expect(inUse.accounts(among: [alice]) == CurrentAccount(current: alice, previous: bob))
    }

    @Test func forgetsThePreviousOneWhenTheSamePersonComesBack() {
        var inUse = AccountsInUse()
        inUse.signIn(alice)
        inUse.signOut(alice)
        inUse.signIn(alice)
        #expect(inUse.accounts(among: [alice]) == CurrentAccount(current: alice))
    }

    @Test func noticesWhoWasSignedOutByAnotherProgram() {
        var inUse = AccountsInUse()
        inUse.signIn(alice)
        #expect(inUse.accounts(among: []) == CurrentAccount(current: nil, previous: alice))
        #expect(inUse.accounts(among: [bob]) == CurrentAccount(current: bob, previous: alice))
        #expect(inUse.mustAsk(for: nil, isSignedIn: false))
        #expect(!inUse.mustAsk(for: nil, isSignedIn: true))
    }

    @Test func takesTheOnlyOneForTheCurrentOne() {
        var inUse = AccountsInUse()
        inUse.signIn(bob)
        inUse.signIn(alice)
        inUse.signOut(alice)
        #expect(inUse.accounts(among: [bob]) == CurrentAccount(current: bob, previous: alice))
        inUse.signOut(bob)
        #expect(inUse.accounts(among: []) == CurrentAccount(current: nil, previous: bob))
    }

    @Test func isUndecidedAmongSeveral() {
        #expect(AccountsInUse().accounts(among: [alice, bob]) == nil)
        #expect(AccountsInUse().accounts(among: [alice]) == CurrentAccount(current: alice))
    }

    @Test func asksWhoeverSignedOutUntilTheySignIn() {
        var inUse = AccountsInUse()
        inUse.signIn(alice)
        inUse.signIn(bob)
        #expect(!inUse.mustAsk(for: nil, isSignedIn: true))
        inUse.signOut(alice)
        #expect(inUse.mustAsk(for: nil, isSignedIn: true))
        #expect(inUse.mustAsk(for: (alice.id, nil), isSignedIn: true))
        #expect(inUse.mustAsk(for: (nil, "alice@ID.test"), isSignedIn: true))
        #expect(!inUse.mustAsk(for: (bob.id, nil), isSignedIn: true))
        #expect(!inUse.mustAsk(for: (nil, "carol@id.test"), isSignedIn: true))
        inUse.signIn(bob)
        #expect(!inUse.mustAsk(for: nil, isSignedIn: true))
        #expect(inUse.mustAsk(for: (alice.id, nil), isSignedIn: true))
        inUse.signIn(alice)
        #expect(!inUse.mustAsk(for: (alice.id, nil), isSignedIn: true))
    }

    @Test func survivesWritingAndReading() throws {
        var inUse = AccountsInUse()
        inUse.signIn(alice)
        inUse.signIn(bob)
        inUse.signOut(alice)
        #expect(try AccountsInUse(decoding: inUse.encoded()) == inUse)
        let newer = Array(#"{"v":2,"current":{"account_id":"a","environment":"e","x":1},"later":[true]}"#.utf8)
        let read = try AccountsInUse(decoding: newer)
        #expect(read.version == 2 && String(decoding: read.encoded(), as: UTF8.self).contains(#""later":[true]"#))
        #expect(throws: (any Error).self) { try AccountsInUse(decoding: Array("[]".utf8)) }
    }

    @Test func remembersABoundedNumber() {
        var inUse = AccountsInUse()
        for number in 0..<100 { inUse.signOut(Account(id: Account.ID(rawValue: "\(number)"), environment: "e")) }
        #expect(inUse.signedOut.count == 20 && inUse.signedOut.first?.id.rawValue == "99")
    }
}
