// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityMSALCaches

/// An account of an item that is only read: what is kept beside the item, and what the item says.
struct BesideItem {
    /// The content beside the item: this program's record, perhaps with the name of a lost refresh token, or a mark that this
    /// program has signed out.
    let stored: CacheRecord?
    /// This program's record.
    private let kept: CacheRecord?
    /// The name of the refresh token that `kept` has lost, because the provider took it back. The item may still have it.
    private let lost: String?
    private let inItem: CacheRecord?

    /// The mark that this program has signed out of an account that the item has.
    private static let signedOut = CacheRecord(bytes: Array(#"{"signed_out":true}"#.utf8))
    /// The beginning of a record with the name of a lost token: 32 hexadecimal digits and a line feed follow, and the record.
    private static let lostMark = Array("lost ".utf8)
    private static let lostLength = lostMark.count + 33

    init(_ stored: CacheRecord?, _ inItem: CacheRecord?) {
        (self.stored, self.inItem) = (stored, inItem)
        guard let bytes = stored?.bytes, bytes.starts(with: Self.lostMark), bytes.count > Self.lostLength else {
            (kept, lost) = (stored, nil)
            return
        }
        kept = CacheRecord(bytes: Array(bytes[Self.lostLength...]))
        lost = String(decoding: bytes[Self.lostMark.count..<Self.lostLength - 1], as: UTF8.self)
    }

    /// The record that counts.
    var current: CacheRecord? {
        guard let kept else { return inItem }
        if kept == Self.signedOut { return nil }
        guard let inItem else { return kept }
        let isOvertaken =
            lost.map { AccountCredentials.hasRefreshToken(in: inItem, otherThan: $0) }
            ?? AccountCredentials.isOvertaken(kept, by: inItem)
        return isOvertaken ? inItem : kept
    }

    /// Returns the content beside the item that makes `new` the current record.
    func replacement(_ new: CacheRecord?) -> CacheRecord? {
        guard let new else { return inItem == nil ? nil : Self.signedOut }
        guard inItem != nil, let lost = AccountCredentials.lostRefreshToken(from: current, to: new, after: lost) else {
            return new
        }
        return CacheRecord(bytes: Self.lostMark + Array("\(lost)\n".utf8) + new.bytes)
    }
}
