// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient
@testable import IdentityKeyring
@testable import IdentityMSALKeyring

/// The account that counts if the item of other programs is only read.
struct BesideItemTests {
    /// A record with a refresh token, or without.
    private func record(_ token: String?, signIn: String = "theirs", note: String = "") -> CacheRecord {
        var credentials = AccountCredentials(
            signInID: signIn,
            partition: "entra|login.microsoftonline.com",
            environment: "login.microsoftonline.com",
            clientID: "client",
            accountID: Account.ID(rawValue: "a.b"),
            homeAccountID: "a.b"
        )
        credentials.refreshToken = token.map {
            CachedRefreshToken(secret: $0, scopes: [], declinedScopes: [], modifiedAt: 1, refusals: [])
        }
        if !note.isEmpty { credentials.deviceSecret = note }  // Any difference.
        return CacheRecord(bytes: credentials.encoded())
    }

    /// Makes `new` the current record, and returns what is stored then.
    private func storing(_ new: CacheRecord?, over old: CacheRecord?, _ item: CacheRecord?) -> CacheRecord? {
        let stored = BesideItem(old, item).replacement(new)
        #expect(BesideItem(stored, item).current == new)
        return stored
    }

    /// The provider took the token back for good, so that it was removed.
    @Test(arguments: [nil, "ours"]) func aNewTokenOfTheItemCountsAfterOursWasTakenBack(_ ours: String?) throws {
        let item = record("RT1")
        var stored: CacheRecord?
        if let ours { stored = storing(record(ours), over: stored, item) }
        stored = BesideItem(stored, item).replacement(record(nil))
        // The same token would be refused again; another one was not.
        #expect(BesideItem(stored, item).current == (ours == nil ? record(nil) : item))
        if ours != nil { stored = storing(record(nil), over: stored, item) }
        // Later writes of the same sign-in do not forget the token.
        stored = storing(record(nil, note: "later"), over: stored, item)
        #expect(BesideItem(stored, record("RT2")).current == record("RT2"))
        #expect(BesideItem(stored, record(nil)).current == record(nil, note: "later"))
        #expect(BesideItem(stored, nil).current == record(nil, note: "later"))
        // That one can be taken back, too.
        let next = record("RT2")
        stored = storing(record(nil), over: stored, next)
        #expect(BesideItem(stored, record("RT3")).current == record("RT3"))
    }

    @Test func aSignInOfOursWithoutARefreshTokenStays() throws {
        let item = record("RT1")
        let stored = storing(record(nil, signIn: "ours"), over: nil, item)
        #expect(BesideItem(stored, record("RT2")).current == record(nil, signIn: "ours"))
        let signedOut = storing(nil, over: stored, item)
        #expect(BesideItem(signedOut, record("RT2")).current == nil)
    }
}
