// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct AccountChangeTests {
    @Test func tellsWhatLeadsFromOneListToAnother() {
        let (alice, bob, carol) = (account("alice"), account("bob"), account("carol"))
        let renamed = account("bob", name: "Robert")
        #expect(AccountChange.changes(from: [], to: []).isEmpty)
        #expect(AccountChange.changes(from: [alice, bob], to: [bob, alice]).isEmpty)
        #expect(
            AccountChange.changes(from: [alice, bob], to: [renamed, carol])
                == [.removed(alice), .updated(from: bob, to: renamed), .added(carol)]
        )
    }

    @Test func carriesOldAndNew() {
        let (old, new) = (account("bob"), account("bob", name: "Robert"))
        let (added, updated, removed) = (
            AccountChange.added(new), AccountChange.updated(from: old, to: new), AccountChange.removed(old)
        )
        #expect(added.kind == .added && added.old == nil && added.new == new && added.account == new)
        #expect(updated.kind == .updated && updated.old == old && updated.new == new && updated.account == new)
        #expect(removed.kind == .removed && removed.old == old && removed.new == nil && removed.account == old)
    }

    @Test(
        arguments: [
            (#"{"iat":1,"exp":2,"uti":"a","name":"B","n":[1]}"#, #"{"n":[1],"name":"B","iat":3,"exp":4}"#, true),
            (#"{"name":"B"}"#, #"{"name":"C"}"#, false),
            (#"{"name":"B"}"#, #"{"name":"B","groups":["x"]}"#, false),
            (#"{"name":"B"}"#, nil, false),
        ] as [(String, String?, Bool)]
    )
    func ignoresWhatATokenSaysOfItself(old: String, new: String?, isSame: Bool) {
        let changes = AccountChange.changes(from: [account("bob", claims: old)], to: [account("bob", claims: new)])
        #expect(changes.isEmpty == isSame)
    }

    @Test func tellsOfEveryPartThatPeopleSee() {
        let old = Account(id: .init(rawValue: "1"), environment: "e", username: "u", homeAccountID: "h")
        let others = [
            Account(id: old.id, environment: "e", username: "v", homeAccountID: "h"),
            Account(id: old.id, environment: "e", username: "u", homeAccountID: "i"),
            Account(
                id: old.id,
                environment: "e",
                username: "u",
                homeAccountID: "h",
                tenantProfiles: [TenantProfile(tenantID: "t", localAccountID: "l")]
            ),
        ]
        for new in others {
            #expect(AccountChange.changes(from: [old], to: [new]) == [.updated(from: old, to: new)])
        }
        // The same identifier in another cloud is another account.
        let other = Account(id: old.id, environment: "f", username: "u", homeAccountID: "h")
        #expect(AccountChange.changes(from: [old], to: [other]) == [.removed(old), .added(other)])
    }

    private func account(_ id: String, name: String? = nil, claims: String? = nil) -> Account {
        Account(
            id: Account.ID(rawValue: id),
            environment: "login.example.com",
            username: "\(id)@example.com",
            tenantProfiles: [
                TenantProfile(tenantID: "", localAccountID: id, name: name, idTokenClaims: claims)
            ]
        )
    }
}
