// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

/// Writes that wait make of a record what they would make one after the other.
@Suite struct PendingWritesTests {
    private static let now = Fixture.now

    private static func token(_ secret: String) -> CachedRefreshToken {
        CachedRefreshToken(secret: secret, modifiedAt: now)
    }

    private static func credentials(_ refreshToken: String?, signInID: String = "first") -> AccountCredentials {
        var credentials = Fixture.credentials(refreshToken: refreshToken)
        credentials.signInID = signInID
        return credentials
    }

    /// A refresh from `r<index>` to the next one, for a scope.
    private static func refresh(_ index: Int, _ scope: String = "read", rotates: Bool = true) throws -> PendingWrites {
        let rotated = rotates ? #","refresh_token":"r\#(index + 1)""# : ""
        let grant = try Fixture.grant(
            #"{"access_token":"a\#(index)","token_type":"Bearer","scope":"\#(scope)"\#(rotated)}"#,
            requested: [scope]
        )
        let write = AccountWrite.refresh(credentials("r\(index)"), sent: token("r\(index)"), grant)
        return PendingWrites(write, hadRecord: true, at: now)
    }

    private static func signIn(_ signInID: String, over met: AccountCredentials?) throws -> PendingWrites {
        let grant = try Fixture.grant(
            #"{"access_token":"a-\#(signInID)","token_type":"Bearer","refresh_token":"r-\#(signInID)"}"#
        )
        let fresh = credentials(nil, signInID: signInID)
        var result = PendingWrites(.signIn(fresh, grant), hadRecord: true, at: now)
        result.meets(met)
        return result
    }

    private static func result(_ writes: PendingWrites, _ current: AccountCredentials?) -> AccountCredentials? {
        writes.replay(onto: current).credentials(over: current)
    }

    private static func secrets(_ credentials: AccountCredentials?) -> Set<String> {
        Set(credentials?.accessTokens.map(\.secret) ?? [])
    }

    @Test(arguments: [0, 1, 5, 9])
    func replacesAnyEarlierRefreshTokenWithTheLast(_ first: Int) throws {
        var writes = try Self.refresh(0)
        for index in 1..<10 { writes = writes.followed(by: try Self.refresh(index)) }
        let result = Self.result(writes, Self.credentials("r\(first)"))
        #expect(result?.refreshToken?.secret == "r10" && Self.secrets(result) == ["a9"])
    }

    @Test func keepsTheTokensOfAllScopes() throws {
        var writes = try Self.refresh(0, "read")
        for (index, scope) in ["mail", "read", "files", "mail"].enumerated() {
            writes = writes.followed(by: try Self.refresh(index + 1, scope))
        }
        let result = Self.result(writes, Self.credentials("r0"))
        #expect(Self.secrets(result) == ["a2", "a3", "a4"] && result?.refreshToken?.secret == "r5")
    }

    /// A provider that rotates now and then: the refresh token of the older answer is the last there is.
    @Test func keepsTheLastRefreshTokenIfLaterAnswersBringNone() throws {
        let later = try Self.refresh(1, rotates: false)
        let writes = try Self.refresh(0).followed(by: later).followed(by: later)
        let result = Self.result(writes, Self.credentials("r0"))
        #expect(result?.refreshToken?.secret == "r1" && Self.secrets(result) == ["a1"])
    }

    @Test func isDroppedIfTheAccountIsGoneOrSignedInAgain() throws {
        let writes = try Self.refresh(0).followed(by: Self.refresh(1))
        #expect(writes.replay(onto: nil) == .drop)
        let other = Self.credentials("of another sign-in", signInID: "another")
        #expect(writes.replay(onto: other) == .done)
        let alone = PendingWrites(.rotate(other, sent: Self.token("q"), secret: "r"), hadRecord: true, at: 0)
        #expect(Self.result(writes.followed(by: alone), Self.credentials("r0"))?.refreshToken?.secret == "r2")
    }

    @Test func keepsARefreshTokenThatAnotherProcessStored() throws {
        let writes = try Self.refresh(0).followed(by: Self.refresh(1))
        let result = Self.result(writes, Self.credentials("of another process"))
        #expect(result?.refreshToken?.secret == "of another process" && Self.secrets(result) == ["a1"])
    }

    @Test func storesANewRefreshTokenBeforeTheRestOfItsAnswer() throws {
        let base = Self.credentials("r0")
        let alone = PendingWrites(.rotate(base, sent: Self.token("r0"), secret: "r1"), hadRecord: true, at: Self.now)
        let stored = Self.result(alone, base)
        #expect(stored?.refreshToken?.secret == "r1" && stored?.accessTokens == [])
        let grant = try Fixture.grant(#"{"access_token":"a0","token_type":"Bearer","refresh_token":"r1"}"#)
        let rest = PendingWrites(.refresh(base, sent: Self.token("r1"), grant), hadRecord: true, at: Self.now)
        for result in [Self.result(rest, stored), Self.result(alone.followed(by: rest), base)] {
            #expect(result?.refreshToken?.secret == "r1" && Self.secrets(result) == ["a0"])
        }
    }

    /// A write that failed and was done all the same is known by what was found in the record, however long ago that was.
    @Test func remembersTheRefreshTokenOfTheRecord() throws {
        var writes = try Self.refresh(0)
        for index in 1..<100 {
            var later = try Self.refresh(index)
            later.meets(Self.credentials("r3"))
            writes = writes.followed(by: later)
        }
        for spent in ["r0", "r3", "r99"] {
            #expect(Self.result(writes, Self.credentials(spent))?.refreshToken?.secret == "r100")
        }
    }

    /// The record that the sign-in met, the one that is there when it is replayed, and what comes of it.
    @Test(
        arguments: [
            (credentials("r0"), credentials("r0"), "r-new"), (nil, nil, "r-new"),
            (credentials("r0"), nil, nil), (nil, credentials("r1", signInID: "later"), "r1"),
            (credentials("r0"), credentials("r1", signInID: "later"), "r1"),
            (nil, credentials("r1", signInID: "new"), "r1"),
        ] as [(AccountCredentials?, AccountCredentials?, String?)]
    )
    func aSignInYieldsToItsOwnRecordALaterOneAndASignOut(
        met: AccountCredentials?,
        current: AccountCredentials?,
        secret: String?
    ) throws {
        let result = Self.result(try Self.signIn("new", over: met), current)
        #expect(result?.refreshToken?.secret == secret)
    }

    @Test func writesARefreshTogetherWithTheSignInBeforeIt() throws {
        let signIn = try Self.signIn("new", over: nil)
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer","refresh_token":"r1"}"#)
        let base = Self.credentials("r-new", signInID: "new")
        var refresh = PendingWrites(.refresh(base, sent: Self.token("r-new"), grant), hadRecord: false, at: Self.now)
        refresh.meets(nil)
        let both = signIn.followed(by: refresh)
        #expect(both.hasSignIn && Self.result(both, nil)?.refreshToken?.secret == "r1")
        // Its write was done, and another process refreshed since.
        let other = Self.credentials("of another process", signInID: "new")
        #expect(Self.result(both, other)?.refreshToken?.secret == "of another process")
    }
}
