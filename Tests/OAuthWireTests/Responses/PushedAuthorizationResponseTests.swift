// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct PushedAuthorizationResponseTests {
    /// RFC 9126 §2.2. Numbers that some servers write as strings are also read.
    @Test(arguments: [
        (#"{"request_uri":"urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c","expires_in":60}"#, 60),
        (#"{"request_uri":"urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c","expires_in":"90"}"#, 90),
        (#"{"expires_in":1,"request_uri":"urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c","x":{}}"#, 1),
    ])
    func readsTheReference(source: String, seconds: Int) throws {
        let response = try PushedAuthorizationResponse(json(source))
        #expect(response.requestURI == "urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c")
        #expect(response.expiresIn == seconds)
    }

    @Test(arguments: [
        (#"{"expires_in":60}"#, WireError.missing("request_uri")),
        (#"{"request_uri":"","expires_in":60}"#, .missing("request_uri")),
        (#"{"request_uri":7,"expires_in":60}"#, .wrongType("request_uri")),
        (#"{"request_uri":["urn:x"],"expires_in":60}"#, .wrongType("request_uri")),
        (#"{"request_uri":"urn:x y","expires_in":60}"#, .malformed("request_uri")),
        (#"{"request_uri":"urn:x\r\ny","expires_in":60}"#, .malformed("request_uri")),
        (#"{"request_uri":"urn:\u0000","expires_in":60}"#, .malformed("request_uri")),
        (#"{"request_uri":"urn:é","expires_in":60}"#, .malformed("request_uri")),
        (
            #"{"request_uri":"urn:\#(String(repeating: "x", count: 2045))","expires_in":60}"#,
            .malformed("request_uri")
        ),
        (#"{"request_uri":"urn:x"}"#, .missing("expires_in")),
        (#"{"request_uri":"urn:x","expires_in":null}"#, .missing("expires_in")),
        (#"{"request_uri":"urn:x","expires_in":0}"#, .wrongType("expires_in")),
        (#"{"request_uri":"urn:x","expires_in":-60}"#, .wrongType("expires_in")),
        (#"{"request_uri":"urn:x","expires_in":"soon"}"#, .wrongType("expires_in")),
        (#"{"request_uri":"urn:x","expires_in":true}"#, .wrongType("expires_in")),
    ])
    func refusesWhatCannotBeUsed(source: String, expected: WireError) {
        #expect(throws: expected) { try PushedAuthorizationResponse(json(source)) }
    }

    @Test func takesTheLongestReferenceAndBoundsItsLifetime() throws {
        let longest = "urn:" + String(repeating: "x", count: 2044)
        let source = #"{"request_uri":"\#(longest)","expires_in":999999999999}"#
        let response = try PushedAuthorizationResponse(json(source))
        #expect(response.requestURI == longest)
        #expect(response.expiresIn == 315_360_000)
    }
}
