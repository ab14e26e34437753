// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct TokenResponseTests {
    /// RFC 6749 §5.1.
    @Test func readsTheExampleOfTheSpecification() throws {
        let response = try TokenResponse(
            json(
                #"""
                {"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example","expires_in":3600,
                 "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA","example_parameter":"example_value"}
                """#
            )
        )
        #expect(response.accessToken == "2YotnFZFEjr1zCsicMWpAA")
        #expect(response.tokenType == "example")
        #expect(response.expiresIn == 3_600)
        #expect(response.refreshToken == "tGzv3JOkF0XG5Qx2TlKWIA")
        #expect(response.scopes == nil)
        #expect(response.idToken == nil)
    }

    @Test func readsWhatMicrosoftAdds() throws {
        let response = try TokenResponse(
            json(
                #"""
                {"token_type":"Bearer","scope":"User.Read  openid ","expires_in":"3599","ext_expires_in":"soon",
                 "refresh_in":"1800","access_token":"a","id_token":"i","client_info":"ci","foci":"1","refresh_token":""}
                """#
            )
        )
        #expect(response.scopes == ["User.Read", "openid"])
        #expect(response.expiresIn == 3_599)
        #expect(response.refreshIn == 1_800)
        #expect(response.extendedExpiresIn == nil)
        #expect(response.idToken == "i")
        #expect(response.clientInfo == "ci")
        #expect(response.familyID == "1")
        #expect(response.refreshToken == nil)
    }

    /// draft-ietf-oauth-refresh-token-expiration; GitHub, Google, Microsoft; Keycloak, whose offline tokens end after 0 s.
    @Test(
        arguments: [
            (#""refresh_token_timeout":600"#, 600), (#""authorization_expires_in":"900""#, 900),
            (#""refresh_token_timeout":600,"authorization_expires_in":300"#, 300),
            (#""refresh_token_expires_in":15811200"#, 15_811_200), (#""refresh_expires_in":1800"#, 1800),
            (#""refresh_expires_in":0"#, nil), (#""refresh_token_expires_in":-1"#, nil),
            (#""refresh_token_expires_in":"soon","refresh_token_timeout":9"#, 9),
            (#""refresh_token_expires_in":99999999999999999999"#, 315_360_000), (#""x":1"#, nil),
        ] as [(String, Int?)]
    )
    func readsTheEndOfTheSignIn(members: String, expected: Int?) throws {
        let response = try TokenResponse(json(#"{"access_token":"a","token_type":"Bearer",\#(members)}"#))
        #expect(response.refreshTokenExpiresIn == expected)
    }

    @Test(
        arguments: [
            (#"{"access_token":"a","token_type":"b","scope":["x","y"]}"#, ["x", "y"]),
            (#"{"access_token":"a","token_type":"b","scope":""}"#, nil),
            (#"{"access_token":"a","token_type":"b","scope":null}"#, nil),
            (#"{"access_token":"a","token_type":"b","scope":[]}"#, nil),
        ] as [(String, [String]?)]
    )
    func acceptsTheFormsOfScope(source: String, expected: [String]?) throws {
        #expect(try TokenResponse(json(source)).scopes == expected)
    }

    @Test(
        arguments: [
            ("7200", 7200), (#""7200""#, 7200), ("99999999999", 315_360_000), ("-1", nil), ("null", nil), ("[]", nil),
        ] as [(String, Int?)]
    )
    func readsTheExtendedLifetime(source: String, expected: Int?) throws {
        let response = try TokenResponse(json(#"{"access_token":"a","ext_expires_in":\#(source)}"#))
        #expect(response.extendedExpiresIn == expected)
    }

    @Test func anIDTokenAloneIsEnough() throws {
        let response = try TokenResponse(json(#"{"id_token":"i","token_type":"Bearer"}"#))
        #expect(response.accessToken == nil)
        #expect(response.idToken == "i")
    }

    @Test(arguments: [#"{"access_token":"a"}"#, #"{"access_token":"a","token_type":null}"#])
    func tellsAnAbsentTokenType(source: String) throws {
        #expect(try TokenResponse(json(source)).tokenType == nil)
    }

    @Test(arguments: [("3600.7", 3_600), ("3.6e3", 3_600), ("0.9", 0), ("\"3600\"", 3_600)])
    func cutsAFractionOfASecondOff(number: String, expected: Int) throws {
        #expect(try TokenResponse(json(#"{"access_token":"a","expires_in":\#(number)}"#)).expiresIn == expected)
    }

    /// Zoho's older servers write milliseconds to the member that the protocol defines in seconds.
    @Test(arguments: [#""expires_in":3600000,"expires_in_sec":3600"#, #""expires_in_sec":"3600","expires_in":3600000"#])
    func prefersTheSecondsThatAreCalledSo(members: String) throws {
        #expect(try TokenResponse(json(#"{"access_token":"a",\#(members)}"#)).expiresIn == 3_600)
    }

    @Test(
        arguments: [(#""expires_in":3600,"expires_in_sec":60"#, 3_600), (#""expires_in_sec":60"#, nil)]
            as [(String, Int?)]
    )
    func readsTheProtocolsMemberUnlessItIsInMilliseconds(members: String, expected: Int?) throws {
        #expect(try TokenResponse(json(#"{"access_token":"a",\#(members)}"#)).expiresIn == expected)
    }

    @Test func hugeDurationsCannotOverflow() throws {
        let response = try TokenResponse(
            json(#"{"access_token":"a","token_type":"b","expires_in":9223372036854775807}"#)
        )
        #expect(response.expiresIn == 315_360_000)
    }

    /// Ten years at most, and nothing at least; a hint that makes no sense counts as absent.
    @Test(
        arguments: [
            ("9223372036854775808", 315_360_000, 315_360_000), ("1e400", 315_360_000, 315_360_000),
            (#""99999999999999999999""#, 315_360_000, 315_360_000), ("-1", 0, nil), (#""-1""#, 0, nil),
            ("-0.5", 0, nil),
            ("-9223372036854775808", 0, nil), ("-1e30", 0, nil), (#""-99999999999999999999""#, 0, nil), ("0", 0, nil),
        ] as [(String, Int, Int?)]
    )
    func clampsDurations(source: String, seconds: Int, hint: Int?) throws {
        let members = ["expires_in", "refresh_in", "ext_expires_in"].map { #""\#($0)":\#(source)"# }.joined(
            separator: ","
        )
        let response = try TokenResponse(json(#"{"access_token":"a",\#(members)}"#))
        #expect(response.expiresIn == seconds)
        #expect(response.refreshIn == hint && response.extendedExpiresIn == hint)
    }

    @Test(arguments: [
        (#"{}"#, WireError.missing("access_token")),
        (#"{"access_token":"","token_type":"b"}"#, .missing("access_token")),
        (#"{"access_token":null,"token_type":"b"}"#, .missing("access_token")),
        (#"{"access_token":1,"token_type":"b"}"#, .wrongType("access_token")),
        (#"{"access_token":"a","token_type":7}"#, .wrongType("token_type")),
        (#"{"access_token":"a b","token_type":"b"}"#, .malformed("access_token")),
        (#"{"access_token":"a\r\nX: y","token_type":"b"}"#, .malformed("access_token")),
        (#"{"access_token":"a\u0000","token_type":"b"}"#, .malformed("access_token")),
        (#"{"access_token":"é","token_type":"b"}"#, .malformed("access_token")),
        (#"{"access_token":"a","token_type":"b","expires_in":"soon"}"#, .wrongType("expires_in")),
        (#"{"access_token":"a","token_type":"b","expires_in":"-"}"#, .wrongType("expires_in")),
        (#"{"access_token":"a","token_type":"b","refresh_token":"\uFFFD"}"#, .malformed("refresh_token")),
        (#"{"access_token":"a","token_type":"b","refresh_token":{}}"#, .wrongType("refresh_token")),
        (#"{"access_token":"a","token_type":"b","scope":7}"#, .wrongType("scope")),
    ])
    func refusesWhatTheProtocolForbids(source: String, expected: WireError) {
        #expect(throws: expected) { try TokenResponse(json(source)) }
    }
}
