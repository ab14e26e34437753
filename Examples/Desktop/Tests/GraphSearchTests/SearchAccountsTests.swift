// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import IdentityTesting
import TestSupport
import Testing

@testable import GraphSearch

/// Two providers whose accounts are in the same cache.
@Suite(.timeLimit(.minutes(1))) struct SearchAccountsTests {
    private let cache = InMemoryTokenCache()
    private let providers: [TestIdentityProvider]
    private let contoso: Authority
    private let fabrikam: Authority

    init() throws {
        MainLoop.start()
        providers = [try TestIdentityProvider(profile: .entra), try TestIdentityProvider()]
        contoso = try providers[0].listen()
        fabrikam = try providers[1].listen()
    }

    /// Returns new accounts; each call plays another process.
    private func accounts() throws -> SearchAccounts {
        try SearchAccounts(
            [source("contoso", contoso, person: .alice), source("fabrikam", fabrikam, person: .bob)],
            scopes: ["api.read"]
        )
    }

    private func source(
        _ name: AccountType.Name,
        _ authority: Authority,
        person: TestIdentityProvider.Person
    ) throws -> SearchAccounts.Source {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority,
            cache: cache
        )
        configuration.browser = ScriptedBrowser(provider: nil, signingInAs: person)
        let graph = try #require(URL(string: "https://graph.\(name).example/v1.0"))
        return SearchAccounts.Source(name: name, configuration: configuration, graphURL: graph)
    }

    @Test func listsTheAccountsOfAllTypes() async throws {
        let accounts = try accounts()
        try await accounts.store.acquireTokenInteractively(ofType: "fabrikam")
        try await accounts.store.acquireTokenInteractively(ofType: "contoso")
        let found = try await self.accounts().store.accounts()
        #expect(found.map(\.type) == ["contoso", "fabrikam"])
        #expect(found.map(\.account.displayName) == ["Alice Example", "Bob Example"])
    }

    @Test @MainContext func tellsOfAccountsThatComeAndGo() async throws {
        let (accounts, other) = (try accounts(), try accounts())
        var lists: [[AccountType.Name]] = []
        try? await accounts.follow { list in
            lists.append(list.map(\.type))
            // Changes by another process are visible here.
            switch list.count {
            case 0: try await other.store.acquireTokenInteractively(ofType: "contoso")
            case 1 where list[0].type == "contoso":
                try await other.store.acquireTokenInteractively(ofType: "fabrikam")
            case 2: try await other.store.signOut(list[0])
            default: throw CancellationError()
            }
        }
        #expect(lists == [[], ["contoso"], ["contoso", "fabrikam"], ["fabrikam"]])
    }

    @Test func keepsTheLastSearchOfEachAccountUntilItIsSignedOut() async throws {
        let store = try accounts().store
        try await store.acquireTokenInteractively(ofType: "contoso")
        try await store.acquireTokenInteractively(ofType: "fabrikam")
        let found = try await store.accounts()
        let (alice, bob) = (found[0], found[1])
        try await accounts().keep("D'A", of: alice)
        try await accounts().keep("さ", of: bob)
        #expect(try await accounts().lastSearch(of: alice) == "D'A")
        #expect(try await accounts().lastSearch(of: bob) == "さ")

        try await store.signOut(alice)
        try await store.acquireTokenInteractively(ofType: "contoso")
        #expect(try await accounts().lastSearch(of: alice) == "")
        #expect(try await accounts().lastSearch(of: bob) == "さ")
    }

    @Test func refusesTwoSourcesOfOneRegistration() throws {
        let source = try source("contoso", contoso, person: .alice)
        var twin = source
        twin.name = "twin"
        let error = #expect(throws: AuthenticationError.self) { try SearchAccounts([source, twin], scopes: []) }
        #expect(error?.code == .invalidArgument)
    }

    @Test @MainContext func searchesTheGraphOfTheAccountsOwnType() async throws {
        let accounts = try accounts()
        try await accounts.store.acquireTokenInteractively(ofType: "fabrikam")
        let account = try #require(try await accounts.store.accounts().first)
        let directory = try #require(try accounts.directory(for: account) as? GraphDirectory)
        #expect(directory.root.host() == "graph.fabrikam.example")
        let stranger = StoredAccount(type: "elsewhere", account: account.account)
        #expect(throws: AuthenticationError.self) { try accounts.directory(for: stranger) }
    }
}
