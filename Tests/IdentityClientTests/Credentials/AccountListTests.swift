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

    private func accounts(_ snapshots: [CredentialSnapshot]) -> [Account] {
        CredentialStore.Listing(snapshots: Dictionary(uniqueKeysWithValues: snapshots.map { ($0.key, $0) }))
            .accounts(inScope: scope)
    }

    @Test func hasEachPersonOfTheProviderOnceSortedByName() {
        let list = accounts([
            snapshot(1, person: 1, name: "carl"), snapshot(2, person: 2, name: "ann"),
            snapshot(3, person: 1, name: "carl"),
            snapshot(4, person: 3, name: "ben", partition: "oidc|https://other.example"),
        ])
        #expect(list.map(\.username) == ["ann", "carl"])
        #expect(list[1].tenantProfiles.map(\.tenantID).sorted() == ["realm 1", "realm 3"])
    }

    /// Two identifiers that `==` takes for the same text.
    @Test func tellsSimilarAccountsApart() {
        let snapshots = ["\u{E9}", "e\u{301}"].enumerated().map { index, id in
            CredentialSnapshot(
                key: CacheKey(group: group, kind: .account, name: "\(index)"),
                record: nil,
                credentials: Fixture.credentials(partition: scope, account: id)
            )
        }
        #expect(accounts(snapshots).map { Array($0.id.rawValue.utf8) } == [[0x65, 0xCC, 0x81], [0xC3, 0xA9]])
    }

    /// The claims do not count when accounts are compared, and are the newest all the same.
    @Test func hasTheNewClaimsAfterAChange() async throws {
        let cache = InMemoryTokenCache()
        let store = CredentialStore(cache: cache, group: group, clientID: "client")
        var credentials = snapshot(1, person: 1, name: "ann").credentials
        let id = RecordID(partition: scope, accountID: credentials.accountID.rawValue)
        func claims() async throws -> [String?] {
            try await store.allSnapshots().accounts(inScope: scope).map { $0.tenantProfiles.first?.idTokenClaims }
        }
        _ = try await store.update(id) { _ in credentials }
        #expect(try await claims() == [nil])
        credentials.profiles[0].idToken = "e30.eyJhIjoxfQ.x"
        _ = try await store.update(id) { _ in credentials }
        #expect(try await claims() == [#"{"a":1}"#])
        _ = try await store.update(id) { _ in nil }
        #expect(try await claims().isEmpty)
    }
}
