// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct AccountListTests {
    private let scope = "oidc|https://issuer.example"
    private let group = CacheGroup.application(ClientID("client"))

    private func snapshot(
        _ record: Int,
        person: Int,
        name: String?,
        partition: String? = nil
    ) -> CredentialSnapshot {
        var credentials = Fixture.credentials(partition: partition ?? scope, account: "person \(person)")
        credentials.profiles = [
            CachedProfile(realm: "realm \(record)", localAccountID: "\(person)", username: name, isHomeTenant: true)
        ]
        let key = CacheKey(group: group, kind: .account, name: "\(record)")
        return CredentialSnapshot(key: key, record: nil, credentials: credentials)
    }

    /// Several records describe the same few people, with names that change and that other people share.
    @Test func patchingGivesWhatMakingItAnewGives() {
        var random = SystemRandomNumberGenerator()
        var records: [Int: CredentialSnapshot] = [:]
        var list = AccountList([], inScope: scope)
        for _ in 0..<2000 {
            let record = Int.random(in: 0..<30, using: &random)
            let next: CredentialSnapshot? =
                Int.random(in: 0..<4, using: &random) == 0
                ? nil
                : snapshot(
                    record,
                    person: Int.random(in: 0..<12, using: &random),
                    name: ["ann", "Ben", "carl", nil].randomElement(using: &random) ?? nil,
                    partition: Int.random(in: 0..<5, using: &random) == 0 ? "oidc|https://other.example" : nil
                )
            list.replace(records[record], with: next)
            records[record] = next
            let anew = AccountList(records.values, inScope: scope).accounts
            guard list.accounts == anew else {
                Issue.record("\(list.accounts.map(\.id)) is not \(anew.map(\.id))")
                return
            }
        }
        #expect(list.accounts.count > 1)
    }

    /// Two identifiers that `==` takes for the same text: a patch finds the right one.
    @Test(arguments: [(0, 1), (1, 0)]) func aPatchTellsSimilarAccountsApart(_ gone: Int, _ left: Int) {
        let snapshots = ["\u{E9}", "e\u{301}"].enumerated().map { index, id in
            let key = CacheKey(group: group, kind: .account, name: "\(index)")
            return CredentialSnapshot(
                key: key,
                record: nil,
                credentials: Fixture.credentials(partition: scope, account: id)
            )
        }
        var list = AccountList([], inScope: scope)
        for snapshot in snapshots { list.replace(nil, with: snapshot) }
        list.replace(snapshots[gone], with: nil)
        #expect(list.accounts.map { Array($0.id.rawValue.utf8) } == [Array(snapshots[left].account.id.rawValue.utf8)])
    }

    /// The claims do not count when accounts are compared, and are the newest all the same.
    @Test func aPatchBringsTheNewClaims() {
        let old = snapshot(1, person: 1, name: "ann")
        var credentials = old.credentials
        credentials.profiles[0].idToken = "e30.eyJhIjoxfQ.x"
        let new = CredentialSnapshot(key: old.key, record: nil, credentials: credentials)
        var list = AccountList([old, snapshot(2, person: 2, name: "ben")], inScope: scope)
        list.replace(old, with: new)
        #expect(list.accounts.map { $0.tenantProfiles.first?.idTokenClaims } == [#"{"a":1}"#, nil])
    }
}
