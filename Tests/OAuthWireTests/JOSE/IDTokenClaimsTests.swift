// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct IDTokenClaimsTests {
    /// OpenID Connect Core §2.
    @Test func readsTheExampleOfTheSpecification() throws {
        let claims = try IDTokenClaims(
            json(
                #"""
                {"iss":"https://server.example.com","sub":"24400320","aud":"s6BhdRkqt3","nonce":"n-0S6_WzA2Mj",
                 "exp":1311281970,"iat":1311280970,"auth_time":1311280969,"acr":"urn:mace:incommon:iap:silver"}
                """#
            )
        )
        #expect(claims.issuer == "https://server.example.com")
        #expect(claims.subject == "24400320")
        #expect(claims.audience == ["s6BhdRkqt3"])
        #expect(claims.nonce == "n-0S6_WzA2Mj")
        #expect(claims.expiration == 1_311_281_970)
        #expect(claims.issuedAt == 1_311_280_970)
        #expect(claims.authTime == 1_311_280_969)
        #expect(claims.raw.string("acr") == "urn:mace:incommon:iap:silver")
        #expect(claims.notBefore == nil)
    }

    @Test func readsWhatMicrosoftAddsAndFractions() throws {
        let claims = try IDTokenClaims(
            json(
                #"""
                {"iss":"i","sub":"s","aud":["a","b"],"exp":1700000000.9,"nbf":1.7e9,"azp":"a","oid":"o","tid":"t",
                 "tfp":"B2C_1_x","preferred_username":"me@h","upn":"u","email":"e","name":["not a text"],"x":1}
                """#
            )
        )
        #expect(claims.audience == ["a", "b"])
        #expect(claims.expiration == 1_700_000_000)
        #expect(claims.notBefore == 1_700_000_000)
        #expect(claims.azp == "a")
        #expect(claims.oid == "o")
        #expect(claims.tid == "t")
        #expect(claims.raw.string("tfp") == "B2C_1_x")
        #expect(claims.preferredUsername == "me@h")
        #expect(claims.upn == "u")
        #expect(claims.email == "e")
        #expect(claims.name == nil)
        #expect(claims.raw.integer("x") == 1)
    }

    /// B2C writes an array of addresses. An empty text names no person.
    @Test(
        arguments: [
            (#""preferred_username":"p","upn":"u","emails":["m"],"email":"e""#, "p"),
            (#""preferred_username":"","email":"e""#, "e"),
            (#""upn":"u","emails":["m"]"#, "u"), (#""emails":["","m"],"email":"e""#, "m"),
            (#""emails":[],"email":"e""#, "e"),
            (#""emails":"m""#, nil), (#""email":"""#, nil), (#""name":"n""#, nil),
        ] as [(String, String?)]
    )
    func namesThePerson(members: String, expected: String?) throws {
        #expect(try IDTokenClaims(json(#"{"iss":"i","sub":"s","aud":"a","exp":1,\#(members)}"#)).username == expected)
    }

    @Test func saysThatASubjectIsANumber() {
        let error = #expect(throws: WireError.self) {
            try IDTokenClaims(json(#"{"iss":"i","sub":7,"aud":"a","exp":1}"#))
        }
        #expect(error?.description.contains("number") == true)
    }

    /// UAA writes an object. No decision depends on it.
    @Test func acrMayBeAnything() throws {
        let claims = try IDTokenClaims(json(#"{"iss":"i","sub":"s","aud":"a","exp":1,"acr":{"values":["a"]}}"#))
        #expect(claims.raw.object("acr") != nil)
    }

    /// Another provider may use these names for any purpose (RFC 7519 §4.3).
    @Test(arguments: ["42", "null", "\"\"", "true", "[]", #"["a"]"#, #"{"id":"a"}"#])
    func privateClaimsOfAnotherTypeAreAbsent(value: String) throws {
        let claims = try IDTokenClaims(
            json(#"{"iss":"i","sub":"s","aud":"a","exp":1,"oid":\#(value),"tid":\#(value),"tfp":\#(value)}"#)
        )
        #expect(claims.oid == nil)
        #expect(claims.tid == nil)
    }

    @Test(arguments: [
        (#"{"sub":"s","aud":"a","exp":1}"#, WireError.missing("iss")),
        (#"{"iss":"i","aud":"a","exp":1}"#, .missing("sub")),
        (#"{"iss":"i","sub":"","aud":"a","exp":1}"#, .missing("sub")),
        (#"{"iss":"i","sub":"s","exp":1}"#, .missing("aud")),
        (#"{"iss":"i","sub":"s","aud":[],"exp":1}"#, .missing("aud")),
        (#"{"iss":"i","sub":"s","aud":["a",1],"exp":1}"#, .wrongType("aud")),
        (#"{"iss":"i","sub":"s","aud":"a"}"#, .missing("exp")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":"soon"}"#, .wrongType("exp")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":"1700000000"}"#, .wrongType("exp")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":1,"iat":"1700000000"}"#, .wrongType("iat")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":1,"nbf":"1700000000"}"#, .wrongType("nbf")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":1,"nonce":1}"#, .wrongType("nonce")),
        (#"{"iss":"i","sub":"s","aud":"a","exp":1,"azp":["a"]}"#, .wrongType("azp")),
        (#"{"iss":1,"sub":"s","aud":"a","exp":1}"#, .wrongType("iss")),
    ])
    func refusesClaimsThatDecideAndAreWrong(source: String, expected: WireError) {
        #expect(throws: expected) { try IDTokenClaims(json(source)) }
    }

    /// No instant overflows when a tolerance is added to it.
    @Test(
        arguments: [
            ("1e30", 253_402_300_799), ("1000000000000000000000000000000", 253_402_300_799),
            ("9223372036854775807", 253_402_300_799), ("1e999", 253_402_300_799), ("-1e30", -62_135_596_800),
            ("1700000000.9", 1_700_000_000), ("-0.5", -1),
        ] as [(String, Int64)]
    )
    func takesAnInstantFarOffForTheEndOfTime(number: String, expected: Int64) throws {
        #expect(try IDTokenClaims(json(#"{"iss":"i","sub":"s","aud":"a","exp":\#(number)}"#)).expiration == expected)
    }

    /// AD FS of Windows Server 2016 writes a date.
    @Test func aDateInAuthTimeCountsAsAbsent() throws {
        func claims(_ issuer: String) throws -> IDTokenClaims {
            try IDTokenClaims(
                json(#"{"iss":"\#(issuer)","sub":"s","aud":"a","exp":1,"auth_time":"2020-03-14T18:52:01.180Z"}"#)
            )
        }
        #expect(try claims("https://adfs.contoso.com/adfs").authTime == nil)
        #expect(throws: WireError.wrongType("auth_time")) { try claims("https://login.contoso.com") }
    }

    /// OpenID Connect Core appendix A.3, for SHA-256; the others computed with another implementation.
    @Test(arguments: [
        ("77QmUPtjPfzWtF2AnpK9RQ", SignatureAlgorithm.rs256, true),
        ("77QmUPtjPfzWtF2AnpK9RQ", .es256, true),
        ("77QmUPtjPfzWtF2AnpK9RQ", .es384, false),
        ("77QmUPtjPfzWtF2AnpK9RQ", .edDSA, false),
        ("jtAeDp945y1dDqU3nkIVGNZP1HjH_MFs", .rs256, false),
        ("jtAeDp945y1dDqU3nkIVGNZP1HjH_MFs", .rs512, false),
        ("77QmUPtjPfzWtF2AnpK9RR", .rs256, false),
        ("jtAeDp945y1dDqU3nkIVGNZP1HjH_MFs", .ps384, true),
        ("q7nS86GgvvFaZkzALLWqJYaJIKw2wCDAVfCAsm5CrBM", .edDSA, true),
    ])
    func atHashIsTheLeftHalfOfTheHash(atHash: String, algorithm: SignatureAlgorithm, expected: Bool) throws {
        let claims = try IDTokenClaims(json(#"{"iss":"i","sub":"s","aud":"a","exp":1,"at_hash":"\#(atHash)"}"#))
        #expect(
            claims.atHashMatches(accessToken: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", algorithm: algorithm)
                == expected
        )
    }

    @Test(arguments: [
        ("77QmUPtjPfzWtF2AnpK9RQ", SignatureAlgorithm.es384, true), ("77QmUPtjPfzWtF2AnpK9RQ", .edDSA, true),
        ("77QmUPtjPfzWtF2AnpK9RR", .es384, false),
    ])
    func authentikTakesOneHashForAllAlgorithms(atHash: String, algorithm: SignatureAlgorithm, expected: Bool) throws {
        let issuer = "https://authentik.company/application/o/mail/"
        let claims = try IDTokenClaims(
            json(#"{"iss":"\#(issuer)","sub":"s","aud":"a","exp":1,"at_hash":"\#(atHash)"}"#)
        )
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        #expect(claims.atHashMatches(accessToken: token, algorithm: algorithm) == expected)
    }

    @Test func withoutAtHashThereIsNothingToCompare() throws {
        let claims = try IDTokenClaims(json(#"{"iss":"i","sub":"s","aud":"a","exp":1}"#))
        #expect(claims.atHashMatches(accessToken: "x", algorithm: .rs256))
    }
}
