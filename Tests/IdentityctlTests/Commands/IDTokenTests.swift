// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

@Suite struct IDTokenTests {
    private static let issued = Date(timeIntervalSince1970: 1_700_000_000)

    private func token(_ claims: [(String, JSONValue)]) throws -> IDToken? {
        let fixed: [(String, JSONValue)] = [("iss", .string("i")), ("sub", .string("s")), ("aud", .string("a"))]
        let text = JSONWebToken.compact(
            signingInput: JSONWebToken.signingInput(
                header: JSONObject([("alg", .string("RS256"))]),
                claims: JSONObject(fixed + claims)
            ),
            signature: [1]
        )
        return IDToken(of: result(text))
    }

    private func result(_ idToken: String?) -> AuthenticationResult {
        AuthenticationResult(
            accessToken: "a",
            expiresOn: Self.issued,
            scopes: [],
            account: PlainReportTests.accounts[1],
            idToken: idToken,
            source: .cache
        )
    }

    /// A token of ten minutes. Age, requested validity, whether the token is valid for that.
    @Test(arguments: [
        (0, 0, true), (599, 0, true), (600, 0, false), (300, 299, true), (300, 300, false), (0, 599, true),
        // No token of this lifetime is valid for so long.
        (59, 600, true), (60, 600, false), (59, 86_400, true),
    ])
    func isGoodForTheLeastValidity(age: Int, minimum: Int, expected: Bool) throws {
        let token = try #require(
            try token([("iat", .integer(1_700_000_000)), ("exp", .integer(1_700_000_600))])
        )
        #expect(token.isGood(for: .seconds(minimum), at: Self.issued.addingTimeInterval(Double(age))) == expected)
        #expect(token.isAlive(at: Self.issued.addingTimeInterval(Double(age))) == (age < 600))
    }

    @Test func readsOneThatDoesNotSayWhenItCame() throws {
        let token = try #require(try token([("exp", .integer(1_700_000_600))]))
        #expect(
            token.isGood(for: .seconds(60), at: Self.issued) && token.expiresOn == Self.issued.addingTimeInterval(600)
        )
        let unreadable = [try self.token([]), IDToken(of: result(nil)), IDToken(of: result("x"))]
        #expect(unreadable.allSatisfy { $0 == nil })
    }
}
