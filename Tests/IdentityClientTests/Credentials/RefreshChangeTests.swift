// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

/// A combined change has the same effect on a record as its refreshes one after the other.
@Suite struct RefreshChangeTests {
    private static let now = Fixture.now

    private static func token(_ secret: String) -> CachedRefreshToken {
        CachedRefreshToken(secret: secret, modifiedAt: now)
    }

    private static func credentials(_ refreshToken: String?, incarnation: String = "incarnation") -> AccountCredentials
    {
        var credentials = Fixture.credentials(refreshToken: refreshToken)
        credentials.incarnation = incarnation
        return credentials
    }

    /// A refresh from `r<index>` to the next refresh token, for one scope.
    private static func change(_ index: Int, _ scope: String = "read", rotates: Bool = true) throws -> RefreshChange {
        let rotated = rotates ? #","refresh_token":"r\#(index + 1)""# : ""
        let grant = try Fixture.grant(
            #"{"access_token":"a\#(index)","token_type":"Bearer","scope":"\#(scope)"\#(rotated)}"#,
            requested: [scope]
        )
        return RefreshChange(.grant(grant), to: token("r\(index)"), of: credentials("r\(index)"), at: now)
    }

    private static func secrets(_ credentials: AccountCredentials?) -> Set<String> {
        Set(credentials?.accessTokens.map(\.secret) ?? [])
    }

    @Test(arguments: [0, 1, 5, 9])
    func leadsFromAnyRefreshTokenOnTheWayToTheLast(_ first: Int) throws {
        var change = try Self.change(0)
        for index in 1..<10 { change = try #require(change.followed(by: Self.change(index))) }
        let result = change.applied(to: Self.credentials("r\(first)"))
        #expect(result?.refreshToken?.secret == "r10" && Self.secrets(result) == ["a9"])
    }

    @Test func keepsTheTokensOfAllScopes() throws {
        var change = try Self.change(0, "read")
        for (index, scope) in ["mail", "read", "files", "mail"].enumerated() {
            change = try #require(change.followed(by: Self.change(index + 1, scope)))
        }
        let result = change.applied(to: Self.credentials("r0"))
        #expect(Self.secrets(result) == ["a2", "a3", "a4"] && result?.refreshToken?.secret == "r5")
    }

    /// A provider that rotates only sometimes: the refresh token of the older answer is the latest.
    @Test func keepsTheLastRefreshTokenWhereLaterAnswersBringNone() throws {
        let change = try #require(
            try Self.change(0).followed(by: Self.change(1, rotates: false))?.followed(
                by: Self.change(1, rotates: false)
            )
        )
        let result = change.applied(to: Self.credentials("r0"))
        #expect(result?.refreshToken?.secret == "r1" && Self.secrets(result) == ["a1"])
    }

    @Test func isDroppedWhereTheAccountIsGoneOrSignedInAnew() throws {
        let change = try #require(try Self.change(0).followed(by: Self.change(1)))
        #expect(change.applied(to: nil) == nil)
        let other = Self.credentials("of another sign-in", incarnation: "another")
        #expect(change.applied(to: other) == other)
        #expect(change.followed(by: RefreshChange(.refreshToken("r"), to: Self.token("q"), of: other, at: 0)) == nil)
    }

    @Test func leavesARefreshTokenThatAnotherProcessHasPutThere() throws {
        let change = try #require(try Self.change(0).followed(by: Self.change(1)))
        let result = change.applied(to: Self.credentials("of another process"))
        #expect(result?.refreshToken?.secret == "of another process" && Self.secrets(result) == ["a1"])
    }

    @Test func storesANewRefreshTokenBeforeTheRestOfItsAnswer() throws {
        let alone = RefreshChange(.refreshToken("r1"), to: Self.token("r0"), of: Self.credentials("r0"), at: Self.now)
        let stored = alone.applied(to: Self.credentials("r0"))
        #expect(stored?.refreshToken?.secret == "r1" && stored?.accessTokens == [])
        let grant = try Fixture.grant(#"{"access_token":"a0","token_type":"Bearer","refresh_token":"r1"}"#)
        let rest = RefreshChange(.grant(grant), to: Self.token("r1"), of: Self.credentials("r0"), at: Self.now)
        for result in [rest.applied(to: stored), alone.followed(by: rest)?.applied(to: Self.credentials("r0"))] {
            #expect(result?.refreshToken?.secret == "r1" && Self.secrets(result) == ["a0"])
        }
    }

    /// A write that reported a failure but was done is recognized by the refresh token in the record, however old that is.
    @Test func remembersTheRefreshTokenThatWasFoundInTheRecord() throws {
        var change = try Self.change(0)
        for index in 1..<100 { change = try #require(change.followed(by: Self.change(index), stored: "r3")) }
        for spent in ["r0", "r3", "r99"] {
            #expect(change.applied(to: Self.credentials(spent))?.refreshToken?.secret == "r100")
        }
    }
}
