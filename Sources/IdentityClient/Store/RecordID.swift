// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Identifies the record of a client that holds an account's credentials, by the authority's partition and the account.
package struct RecordID: Hashable, Sendable {
    package let partition: String
    package let accountID: String

    package init(partition: String, accountID: String) {
        self.partition = partition
        self.accountID = accountID
    }

    package init(authority: Authority, account: Account.ID) {
        partition = authority.partition
        accountID = account.rawValue
    }

    /// Compares bytes, as the name of the record's key does.
    package static func == (first: RecordID, second: RecordID) -> Bool {
        WireText.areSame(first.accountID, second.accountID) && WireText.areSame(first.partition, second.partition)
    }

    /// Hashes the account alone: a program has few partitions.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(accountID)
    }

    func key(in group: CacheGroup, clientID: String) -> CacheKey {
        CacheKey(
            group: group,
            kind: .account,
            name: Digest.hexadecimal(of: ["account", partition, accountID, clientID])
        )
    }
}
