// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire
import Testing

@testable import identityctl

@Suite struct MCPRefusalTests {
    private func refusal(_ status: Int, _ text: String, _ type: String?, wait: String? = nil) -> MCPRefusal {
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[.contentType] = type
        response.headerFields[.retryAfter] = wait
        return MCPRefusal(response, Array(text.utf8), now: 0)
    }

    @Test(
        arguments: [
            ("Your plan is too small.", "text/plain; charset=utf-8", ": Your plan is too small."),
            ("no", nil, ": no."), ("\u{1B}[31mred\u{202E}\nline", "text/plain", ": [31mred line."),
            (#"{"error":"access_denied","error_description":"Not you!"}"#, "application/json", ": Not you!"),
            (#"{"title":"Forbidden","detail":"Pay first"}"#, "application/problem+json", ": Pay first."),
            (#"{"title":"Forbidden"}"#, "application/problem+json", ": Forbidden."),
            (#"{"message":"Pay first"}"#, "application/json", ": Pay first."),
            (#"{"error":"slow_down"}"#, "application/json", ": slow_down."),
            ("<html>no", "text/html", "."), (" <html>no", nil, "."), ("{\"a\":", "text/plain", "."),
            ("", "text/plain", "."),
        ]
    )
    func saysWhatTheServerSaid(_ text: String, _ type: String?, _ words: String) {
        #expect(refusal(403, text, type).description == "The server answered with status 403" + words)
    }

    @Test func cutsLongWordsAndNamesTheWait() {
        let long = refusal(429, String(repeating: "x", count: 5000), nil, wait: "30")
        let words = String(repeating: "x", count: 300)
        #expect(long.description == "The server answered with status 429: \(words). Try again in 30 s.")
        #expect(long.numbers == JSONObject([("status", .integer(429)), ("retryAfter", .integer(30))]))
        #expect(refusal(429, "", nil).numbers == JSONObject([("status", .integer(429))]))
    }

    @Test func keepsAnErrorOfJSONRPC() {
        let body = #"{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"Unsupported","data":{"a":1}}}"#
        #expect(refusal(400, body, "application/json").error?.object("data")?.integer("a") == 1)
        #expect(refusal(400, #"{"error":{"message":"Unsupported"}}"#, nil).error == nil)
    }

    @Test func namesTheOlderTransport() {
        for status in [404, 405] {
            let error = #"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}"#
            let first = refusal(status, error, "application/json").ofFirstMessage
            #expect(
                first.error == nil && first.description.contains("Method not allowed. A server of the older transport")
            )
        }
        #expect(!refusal(400, "", nil).ofFirstMessage.description.contains("older"))
    }

    @Test func readsWordsAfterAByteOrderMark() throws {
        let response = HTTPResponse(status: .init(code: 403))
        #expect(MCPRefusal(response, Array("\u{FEFF}Pay first".utf8), now: 0).words == "Pay first")
    }
}
