// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@Suite struct CodableTests {
    private struct Kept: Codable, Equatable {
        var account: StoredAccount.ID
        var client: ClientID
        var scopes: [Scope]
        var group: CacheGroup
    }

    /// A program keeps these in its settings. They are plain texts there, so that other programs read them.
    @Test func identifiersAreKeptAsTexts() throws {
        let account = StoredAccount.ID(type: "work", account: Account.ID(rawValue: "u.t"))
        let kept = Kept(account: account, client: "c", scopes: ["a", "b"], group: try CacheGroup("com.example.suite"))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(kept)
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"account":{"account":"u.t","type":"work"},"client":"c","group":"com.example.suite","scopes":["a","b"]}"#
        )
        #expect(try JSONDecoder().decode(Kept.self, from: data) == kept)
    }

    @Test func aGroupsNameIsCheckedWhenItIsRead() {
        #expect(throws: AuthenticationError.self) {
            try JSONDecoder().decode([CacheGroup].self, from: Data(#"["../elsewhere"]"#.utf8))
        }
    }
}
