// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct ErrorResponseTests {
    /// RFC 6749 §5.2.
    @Test func readsTheExampleOfTheSpecification() throws {
        let response = try #require(ErrorResponse(json(#"{"error":"invalid_request"}"#)))
        #expect(response.error == "invalid_request")
        #expect(response.errorDescription == nil)
        #expect(response.errorCodes.isEmpty)
    }

    @Test func readsZoomsReason() throws {
        let zoom = try ErrorResponse(json(#"{"reason":"Invalid Token!","error":"invalid_request"}"#))
        #expect(zoom?.errorDescription == "Invalid Token!")
        let both = try ErrorResponse(json(#"{"reason":"r","error":"e","error_description":"d"}"#))
        #expect(both?.errorDescription == "d")
    }

    @Test func readsWhatMicrosoftAdds() throws {
        let response = try #require(
            ErrorResponse(
                json(
                    #"""
                    {"error":"invalid_grant","error_description":"AADSTS50076: MFA.\r\nTrace ID: t","error_codes":[50076,"7"],
                     "timestamp":"2026-11-13 00:00:00Z","trace_id":"t","correlation_id":"c","error_uri":"https://e/",
                     "suberror":"basic_action","claims":"{\"access_token\":{}}","interval":"soon"}
                    """#
                )
            )
        )
        #expect(response.errorDescription == "AADSTS50076: MFA. Trace ID: t")
        #expect(response.errorCodes == [50_076, 7])
        #expect(response.timestamp == "2026-11-13 00:00:00Z")
        #expect(response.traceID == "t")
        #expect(response.correlationID == "c")
        #expect(response.errorURI == "https://e/")
        #expect(response.suberror == "basic_action")
        #expect(response.claims == #"{"access_token":{}}"#)
    }

    @Test func claimsMayBeAnObjectAndAreBounded() throws {
        #expect(try ErrorResponse(json(#"{"error":"e","claims":{"a": 1}}"#))?.claims == #"{"a":1}"#)
        let long = String(repeating: "x", count: 16_385)
        let response = try #require(ErrorResponse(json(#"{"error":"e","claims":"\#(long)"}"#)))
        #expect(response.claims == nil)
    }

    /// Twitch's answers to a device.
    @Test(arguments: ["authorization_pending", "slow_down", "access_denied", "expired_token"])
    func takesADevicesProgressFromTheMessage(word: String) throws {
        #expect(try ErrorResponse(json(#"{"status":400,"message":"\#(word)"}"#))?.error == word)
        #expect(try ErrorResponse(json(#"{"error":"e","message":"\#(word)"}"#))?.error == "e")
        #expect(try ErrorResponse(json(#"{"error":{},"message":"\#(word)"}"#)) == nil)
        #expect(try ErrorResponse(json(#"{"message":"\#(word) now"}"#)) == nil)
    }

    @Test(arguments: [#"{}"#, #"{"error":""}"#, #"{"error":null}"#, #"{"error":{"code":1}}"#, #"{"access_token":"a"}"#])
    func anythingWithoutAnErrorIsNone(source: String) throws {
        #expect(try ErrorResponse(json(source)) == nil)
    }

    @Test(
        arguments: [
            (#"{"errorCode":"E1","errorSummary":"A client_id\nmust be given."}"#, "A client_id must be given."),
            (#"{"error":{"message":"Expired.","code":100}}"#, "Expired."),
            (#"{"message":"\u001b[2JNo","error":401}"#, "[2JNo"),
            (#"{"error_description":"x","message":"y"}"#, "x"), (#"{"detail":"z"}"#, "z"), (#"{"message":""}"#, nil),
            (#"{"error":"x"}"#, nil), (#"{"message":7}"#, nil), ("{}", nil),
        ] as [(String, String?)]
    )
    func findsTheWordsOfAForeignRefusal(source: String, expected: String?) throws {
        #expect(try ErrorResponse.foreignWords(json(source)) == expected)
    }

    @Test func textsAreOneLineWithoutControlCharactersAndCut() throws {
        let source =
            #"{"error":"a\u001b[31mb","error_description":"\u0007x\u202Ey\n\n\tz\u0085\#(String(repeating: "é", count: 2_000))"}"#
        let response = try #require(ErrorResponse(json(source)))
        #expect(response.error == "a[31mb")
        #expect(response.errorDescription?.hasPrefix("xy zé") == true)
        #expect(response.errorDescription?.unicodeScalars.count == 1_000)
    }
}
