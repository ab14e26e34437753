// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// An account of an item that is only read: what is kept beside the item, and what the item says.
struct BesideItem {
    /// The record beside the item: this program's, or a mark that it has signed out.
    let stored: CacheRecord?
    private let inItem: CacheRecord?

    /// The mark that this program has signed out of an account that the item has.
    private static let signedOut = CacheRecord(bytes: Array(#"{"signed_out":true}"#.utf8))

    init(_ stored: CacheRecord?, _ inItem: CacheRecord?) {
        (self.stored, self.inItem) = (stored, inItem)
    }

    /// The record that counts.
    var current: CacheRecord? {
        guard let stored else { return inItem }
        if stored == Self.signedOut { return nil }
        guard let inItem, AccountCredentials.isOvertaken(stored, by: inItem) else { return stored }
        return inItem
    }

    /// Returns the record beside the item that makes `new` the current one.
    func replacement(_ new: CacheRecord?) -> CacheRecord? {
        new ?? (inItem == nil ? nil : Self.signedOut)
    }
}
