// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import OAuthWire
import Testing

/// OpenID Connect Core §3.1.3.7 and §12.2, each rule broken in turn.
@Suite struct IDTokenExpectationTests {
    static let now = Fixture.now
    static let good: [(String, String)] = [
        ("iss", #""https://h""#), ("sub", #""subject""#), ("aud", #""client""#), ("exp", "\(now + 3600)"),
        ("iat", "\(now)"),
        ("nonce", #""nonce""#),
    ]

    private func claims(_ changes: [(String, String?)]) throws -> IDTokenClaims {
        var members = Self.good
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        let text = "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        return try IDTokenClaims(try Fixture.json(text))
    }

    private func expectation() throws -> IDTokenExpectation {
        var expectation = IDTokenExpectation(
            authority: try .openIDConnect(issuer: "https://h"),
            publishedIssuer: "https://h",
            clientID: "client"
        )
        expectation.nonce = "nonce"
        return expectation
    }

    @Test(
        arguments: [
            [], [("aud", #"["client"]"#)], [("aud", #"["client","other"]"#), ("azp", #""client""#)],
            [("azp", #""client""#)], [("aud", #"["client","client"]"#)],
            [("exp", "\(now + 3600).75")], [("iat", "\(now).5")], [("exp", "\(now - 299)")], [("iat", "\(now + 300)")],
            [("nbf", "\(now + 300)")], [("auth_time", "0")], [("nbf", "1.0e9")],
            [("exp", "1e30")],
        ] as [[(String, String?)]]
    )
    func believes(changes: [(String, String?)]) throws {
        #expect(throws: Never.self) { try expectation().check(claims(changes), algorithm: .rs256, at: Self.now) }
    }

    @Test(
        arguments: [
            ([("iss", #""https://other""#)], "iss"), ([("iss", #""https://h/""#)], "iss"),
            ([("iss", #""https://H""#)], "iss"),
            ([("aud", #""other""#)], "aud"), ([("aud", #"["other"]"#)], "aud"),
            ([("aud", #"["client","other"]"#)], "several audiences"),
            ([("aud", #"["other"]"#), ("azp", #""client""#)], "aud"), ([("azp", #""other""#)], "azp"),
            ([("aud", #"["client","other"]"#), ("azp", #""other""#)], "azp"),
            ([("aud", #""Client""#)], "aud"),
            ([("exp", "\(now - 300)")], "exp"), ([("exp", "0")], "exp"),
            ([("iat", nil)], "iat"), ([("iat", "1e30")], "iat"),
            ([("iat", "\(now + 301)")], "iat"), ([("nbf", "\(now + 301)")], "nbf"),
            ([("nonce", nil)], "nonce"), ([("nonce", #""other""#)], "nonce"), ([("nonce", #""Nonce""#)], "nonce"),
        ] as [([(String, String?)], String)]
    )
    func refuses(changes: [(String, String?)], claim: String) throws {
        let claims = try claims(changes)
        let error = #expect(throws: AuthenticationError.self) {
            try expectation().check(claims, algorithm: .rs256, at: Self.now)
        }
        #expect(error?.code == .invalidIDToken)
        #expect(error?.message.contains(claim) == true)
    }

    /// The message says whether the clock is fast or slow, because a wrong clock is the most common cause.
    @Test func saysWhichWayTheClockIsOff() throws {
        let expired = #expect(throws: AuthenticationError.self) {
            try expectation().check(claims([("exp", "\(Self.now - 400)")]), algorithm: .rs256, at: Self.now)
        }
        #expect(expired?.message.contains("400 s") == true && expired?.message.contains("ahead") == true)
        let early = #expect(throws: AuthenticationError.self) {
            try expectation().check(claims([("iat", "\(Self.now + 500)")]), algorithm: .rs256, at: Self.now)
        }
        #expect(early?.message.contains("500 s") == true && early?.message.contains("behind") == true)
    }

    @Test(
        arguments: [
            (60, now - 60, true), (60, now - 360, true), (60, now - 361, false), (0, now - 301, false), (0, now, true),
            (60, nil, false),
        ] as [(Int, Int64?, Bool)]
    )
    func checksTheAgeOfTheAuthentication(maxAge: Int, authTime: Int64?, expected: Bool) throws {
        var expectation = try expectation()
        expectation.maxAge = maxAge
        let claims = try claims([("auth_time", authTime.map(String.init))])
        let isBelieved = (try? expectation.check(claims, algorithm: .rs256, at: Self.now)) != nil
        #expect(isBelieved == expected)
    }

    /// OpenID Connect Core §14: texts are compared code point by code point. These are equal for Swift's `==`.
    @Test(arguments: ["iss", "aud", "azp", "sub"])
    func comparesBytes(_ claim: String) throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        var expectation = IDTokenExpectation(
            authority: try .openIDConnect(issuer: "https://h"),
            publishedIssuer: "https://h/" + composed,
            clientID: composed
        )
        expectation.subject = composed
        var values = ["iss": "https://h/" + composed, "aud": composed, "azp": composed, "sub": composed]
        func check() throws {
            let changes = values.map { ($0.key, "\"\($0.value)\"" as String?) }
            try expectation.check(try claims(changes), algorithm: .rs256, at: Self.now)
        }
        #expect(throws: Never.self) { try check() }
        values[claim] = claim == "iss" ? "https://h/" + decomposed : decomposed
        #expect(throws: AuthenticationError.self) { try check() }
    }

    @Test(
        arguments: [
            (nil, nil, true), (["silver"], #""silver""#, true), (["gold", "silver"], #""silver""#, true),
            (["gold"], #""silver""#, false), (["gold"], nil, false), (["gold"], #"{"values":["gold"]}"#, false),
        ] as [([String]?, String?, Bool)]
    )
    func comparesAnEssentialACR(_ demanded: [String]?, _ acr: String?, _ isBelieved: Bool) throws {
        var expectation = try expectation()
        expectation.essentialACR = demanded
        let claims = try claims([("acr", acr)])
        #expect(((try? expectation.check(claims, algorithm: .rs256, at: Self.now)) != nil) == isBelieved)
    }

    /// OpenID Connect Core §12.2: no nonce is expected, but the person must be the same.
    @Test func asksARefreshForTheSamePerson() throws {
        var expectation = try expectation()
        expectation.nonce = nil
        expectation.subject = "subject"
        #expect(throws: Never.self) { try expectation.check(claims([("nonce", nil)]), algorithm: .rs256, at: Self.now) }
        let error = #expect(throws: AuthenticationError.self) {
            try expectation.check(claims([("sub", #""Subject""#)]), algorithm: .rs256, at: Self.now)
        }
        #expect(error?.message.contains("sub") == true)
    }

    /// OpenID Connect Core §3.1.3.6, with the example of its appendix A.3.
    @Test func checksTheAccessTokensHash() throws {
        var expectation = try expectation()
        expectation.accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let right = try claims([("at_hash", #""77QmUPtjPfzWtF2AnpK9RQ""#)])
        #expect(throws: Never.self) { try expectation.check(right, algorithm: .rs256, at: Self.now) }
        expectation.accessToken = "another"
        let error = #expect(throws: AuthenticationError.self) {
            try expectation.check(right, algorithm: .rs256, at: Self.now)
        }
        #expect(error?.message.contains("at_hash") == true)
        #expect(throws: Never.self) { try expectation.check(claims([]), algorithm: .rs256, at: Self.now) }
    }

    @Test func checksEntrasTenant() throws {
        let guid = Fixture.guid
        var expectation = IDTokenExpectation(
            authority: try .entra(.tenant(guid)),
            publishedIssuer: nil,
            clientID: "client"
        )
        expectation.nonce = "nonce"
        let issuer = "\"https://login.microsoftonline.com/\(guid)/v2.0\""
        #expect(throws: Never.self) {
            try expectation.check(claims([("iss", issuer), ("tid", "\"\(guid)\"")]), algorithm: .rs256, at: Self.now)
        }
        for tenantID in [nil, "42", "null", "\"\"", #"["\#(guid)"]"#] {
            let error = #expect(throws: AuthenticationError.self) {
                try expectation.check(claims([("iss", issuer), ("tid", tenantID)]), algorithm: .rs256, at: Self.now)
            }
            #expect(error?.code == .invalidIDToken)
        }
    }
}
