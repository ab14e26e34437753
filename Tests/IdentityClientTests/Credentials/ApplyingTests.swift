// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct ApplyingTests {
    static let now = Fixture.now
    private let profile = CachedProfile(
        realm: "tenant",
        localAccountID: "local",
        username: "a@h",
        name: "A",
        isHomeTenant: true,
        idToken: "old"
    )

    @Test func rotatesTheRefreshToken() throws {
        var before = Fixture.credentials()
        before.refreshToken?.scopes = ["read", "write"]
        before.refreshToken?.familyID = "1"
        before.refreshToken?.unknown = try Fixture.json(#"{"x":1}"#)
        before.refreshToken = before.refreshToken?.refused("request", at: Self.now)
        let grant = try Fixture.grant(
            #"{"access_token":"a","token_type":"Bearer","refresh_token":"new","scope":"read"}"#
        )
        let after = try #require(before.applying(grant, at: Self.now + 9).refreshToken)
        #expect(after.secret == "new" && after.modifiedAt == Self.now + 9 && after.familyID == "1")
        #expect(after.scopes == ["read", "write"])
        #expect(after.unknown == before.refreshToken?.unknown)
        #expect(before.refreshToken?.refusals.count == 1 && after.refusals.isEmpty, "Those were of the token before.")
        #expect(before.applying(grant, at: Self.now, isSignIn: true).refreshToken?.scopes == ["read"])
    }

    @Test func keepsTheEndOfTheSignInThatTheLastAnswerTold() throws {
        func after(_ before: AccountCredentials, _ members: String) throws -> AccountCredentials {
            let answer = #"{"access_token":"a","token_type":"Bearer"\#(members)}"#
            return before.applying(try Fixture.grant(answer), at: Self.now)
        }
        let told = try after(Fixture.credentials(), #","refresh_token":"r","refresh_token_expires_in":60"#)
        #expect(told.account.refreshTokenExpiresOn?.timeIntervalSince1970 == Double(Self.now + 60))
        #expect(try after(told, "").refreshToken?.expiresOn == Self.now + 60)
        #expect(try after(told, #","authorization_expires_in":30"#).refreshToken?.expiresOn == Self.now + 30)
        // The end of the token before says nothing about another one.
        #expect(try after(told, #","refresh_token":"s""#).account.refreshTokenExpiresOn == nil)
    }

    @Test func keepsWhatTheAnswerDoesNotReplace() throws {
        var before = Fixture.credentials()
        before.profiles = [profile]
        let after = before.applying(try Fixture.grant(#"{"access_token":"a","token_type":"Bearer"}"#), at: Self.now)
        #expect(after.refreshToken == before.refreshToken)
        #expect(after.profiles == before.profiles)
        #expect(after.accessTokens.map(\.secret) == ["a"])
        #expect(after.signInID == before.signInID)
    }

    /// The end of the token's life, and of the time in which it may be used in an outage.
    @Test func keepsATokenUntilTheEndOfItsExtendedLifetime() throws {
        let grant = try Fixture.grant(#"{"access_token":"a","expires_in":3600,"ext_expires_in":"7200"}"#)
        let after = Fixture.credentials().applying(grant, at: Self.now)
        let request = CredentialRequest(scopes: ["read"])
        let ages = [(3599, true, false), (3600, true, true), (7199, true, true), (7200, false, false)]
        for (age, isKept, isExtended) in ages {
            let time = Self.now + Int64(age)
            #expect(after.tidied(at: time).accessTokens.isEmpty != isKept, "\(age)")
            #expect((after.extendedToken(for: request, at: time) != nil) == isExtended, "\(age)")
            #expect((after.unexpiredToken(for: request, at: time) != nil) == (age < 3600), "\(age)")
        }
        // A clock that was set back.
        #expect(after.extendedToken(for: request, at: Self.now - 400) == nil)
        #expect(after.extendedToken(for: CredentialRequest(scopes: ["write"]), at: Self.now + 3600) == nil)
    }

    @Test func mergesProfilesTheNewestFirst() throws {
        var before = Fixture.credentials()
        before.profiles = [CachedProfile(realm: "other", localAccountID: "o", isHomeTenant: false), profile]
        before.profiles[1].unknown = try Fixture.json(#"{"x":1}"#)
        let newer = CachedProfile(
            realm: "tenant",
            localAccountID: "local",
            username: nil,
            name: "B",
            isHomeTenant: true,
            idToken: "new"
        )
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer"}"#, profile: newer)
        let after = before.applying(grant, at: Self.now).profiles
        #expect(after.map(\.realm) == ["tenant", "other"])
        #expect(after[0].username == "a@h" && after[0].name == "B" && after[0].idToken == "new")
        #expect(after[0].unknown == before.profiles[1].unknown)
    }

    /// The scopes of the older token, and whether it stays beside a new token for `read write`.
    @Test(arguments: [
        (["read"], false), (["write", "x"], false), (["x"], true), ([], true), (["openid"], true), (["Read"], true),
    ])
    func replacesOverlappingTokens(scopes: [String], stays: Bool) throws {
        let before = Fixture.credentials(accessTokens: [Fixture.accessToken("old", scopes: scopes)])
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer","scope":"read write"}"#)
        #expect(Set(before.applying(grant, at: Self.now).accessTokens.map(\.secret)) == (stays ? ["old", "a"] : ["a"]))
    }

    @Test(arguments: [([], false), (["openid"], false), (["read"], true)])
    func replacesTokensWithoutScopesByOneWithout(scopes: [String], stays: Bool) throws {
        let before = Fixture.credentials(accessTokens: [Fixture.accessToken("old", scopes: scopes)])
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer"}"#, requested: ["openid"])
        #expect(Set(before.applying(grant, at: Self.now).accessTokens.map(\.secret)) == (stays ? ["old", "a"] : ["a"]))
    }

    @Test func keepsTheTokensOfOtherTenants() throws {
        let before = Fixture.credentials(accessTokens: [Fixture.accessToken("old", realm: "other")])
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer"}"#)
        #expect(Set(before.applying(grant, at: Self.now).accessTokens.map(\.secret)) == ["old", "a"])
    }

    @Test func dropsExpiredTokens() throws {
        let tokens = [
            Fixture.accessToken("dead", scopes: ["x"], cachedAt: Self.now - 3600),
            Fixture.accessToken("dying", scopes: ["y"], cachedAt: Self.now - 3599),
            Fixture.accessToken("future", scopes: ["z"], cachedAt: Self.now + 3600),
        ]
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer"}"#)
        let after = Fixture.credentials(accessTokens: tokens).applying(grant, at: Self.now)
        #expect(Set(after.accessTokens.map(\.secret)) == ["dying", "a"])
    }

    /// RFC 6749 §5.1
    @Test(
        arguments: [
            ("", 3600, nil), (#","expires_in":60"#, 60, nil), (#","expires_in":"60""#, 60, nil),
            (#","expires_in":7200,"refresh_in":3600"#, 7200, 3600),
        ] as [(String, Int64, Int64?)]
    )
    func readsTheLifetime(member: String, lifetime: Int64, refreshIn: Int64?) throws {
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"bearer"\#(member)}"#)
        let token = try #require(grant.accessToken(at: Self.now))
        #expect(token.expiresOn == Self.now + lifetime && token.cachedAt == Self.now)
        #expect(token.refreshOn == refreshIn.map { Self.now + $0 })
        #expect(token.scopes == ["read"] && token.tokenType == "Bearer")
    }

    @Test(arguments: [("", 99), (#","expires_in":60"#, 60)] as [(String, Int64)])
    func takesTheLifetimeOfTheGrantWhereTheServerSaysNone(member: String, lifetime: Int64) throws {
        var grant = try Fixture.grant(#"{"access_token":"a"\#(member)}"#)
        grant.unstatedLifetime = 99
        #expect(grant.accessToken(at: Self.now)?.expiresOn == Self.now + lifetime)
    }

    @Test(arguments: [#"{"access_token":"a","token_type":"Bearer","refresh_token":"r2"}"#])
    func neverOverwritesANewerRefreshToken(response: String) throws {
        let before = Fixture.credentials(refreshToken: "newer")
        let sent = CachedRefreshToken(secret: "sent", modifiedAt: Self.now)
        let same = Fixture.credentials(refreshToken: "sent")
        let gone = Fixture.credentials(refreshToken: nil)
        for (credentials, secret) in [(before, "newer"), (same, "r2"), (gone, nil)] {
            let writes = PendingWrites(
                .refresh(credentials, sent: sent, try Fixture.grant(response)),
                hadRecord: true,
                at: Self.now
            )
            let result = writes.replay(onto: credentials).credentials(over: credentials)
            #expect(result?.refreshToken?.secret == secret)
        }
    }

    @Test func remembersWhatASignInDeclined() throws {
        func credentials(
            after before: AccountCredentials?,
            _ granted: String,
            isSignIn: Bool
        ) throws -> AccountCredentials {
            let grant = try Fixture.grant(
                #"{"access_token":"a","token_type":"Bearer","refresh_token":"r","scope":"\#(granted)"}"#,
                requested: ["openid", "read", "write"]
            )
            return (before ?? Fixture.credentials()).applying(grant, at: Self.now, isSignIn: isSignIn)
        }
        let partly = try credentials(after: nil, "read", isSignIn: true)
        #expect(partly.refreshToken?.scopes == ["read"] && partly.refreshToken?.declinedScopes == ["write"])
        let refreshed = try credentials(after: partly, "read write", isSignIn: false)
        #expect(refreshed.refreshToken?.declinedScopes == ["write"])
        let wholly = try credentials(after: refreshed, "read write", isSignIn: true)
        #expect(wholly.refreshToken?.scopes == ["read", "write"] && wholly.refreshToken?.declinedScopes == [])
    }

    @Test func staysBelowTheLimitAndKeepsTheRefreshToken() throws {
        let big = String(repeating: "x", count: 30_000)
        var before = Fixture.credentials(refreshToken: String(repeating: "r", count: 20_000))
        before.accessTokens = (0..<20).map {
            Fixture.accessToken(big + "\($0)", scopes: ["s\($0)"], lifetime: 3600 + Int64($0))
        }
        before.profiles = [profile]
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer","expires_in":9000}"#)
        let after = before.applying(grant, at: Self.now)
        #expect(after.encoded().count < AccountCredentials.softLimit + 40_000)
        #expect(after.refreshToken == before.refreshToken)
        #expect(after.profiles == before.profiles)
        #expect(after.accessTokens.contains { $0.secret == "a" })
        // The tokens with the longest remaining lifetime stay.
        #expect(after.accessTokens.count >= 8 && after.accessTokens.contains { $0.secret == big + "19" })
        #expect(!after.accessTokens.contains { $0.secret == big + "0" })
    }

    @Test func givesUpIDTokensWhenNothingElseHelps() throws {
        var before = Fixture.credentials()
        before.profiles = (0..<10).map {
            CachedProfile(
                realm: "t\($0)",
                localAccountID: "l",
                username: "u",
                isHomeTenant: true,
                idToken: String(repeating: "i", count: 40_000)
            )
        }
        let after = before.tidied(at: Self.now)
        #expect(after.profiles.allSatisfy { $0.idToken == nil && $0.username == "u" })
        #expect(after.profiles.count == 10 && after.refreshToken == before.refreshToken)
    }
}
