// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

@Suite struct AgentRequestTests {
    @Test(arguments: [
        (#"{"request":"loaded_accounts"}"#, AgentRequest.accounts), (#"{"request":"account_list"}"#, .accounts),
        (#"{ "request" : "lock" }"#, .lock), (#"{"request":"unlock"}"#, .unlock(nil)), (#"{"request":"stop"}"#, .stop),
        (
            #"{"request":"access_token","min_valid_period":60,"account":"work","scope":"b a","audience":""}"#,
            .token(work)
        ),
        (#"{"request":"access_token","min_valid_period":"60","account":"work","scope":"a  b","x":[1]}"#, .token(work)),
    ])
    func readsOIDCAgentsPlainForm(text: String, expected: AgentRequest) throws {
        #expect(try AgentRequest(parsing: Array(text.utf8)) == expected)
    }

    private static let work: AgentRequest.Token = {
        var token = AgentRequest.Token()
        token.profile = "work"
        token.scopes = ["a", "b"]
        token.minimumValidity = 60
        return token
    }()

    @Test(arguments: [
        "{}", "[]", "", "{", #"{"request":1}"#, #"{"request":"add"}"#, #"{"request":"lock","request":"unlock"}"#,
        #"{"request":"access_token","account":1}"#, #"{"request":"access_token","account":"a\u0000b"}"#,
        #"{"request":"access_token","account":"a\nb"}"#, #"{"request":"access_token","min_valid_period":-1}"#,
        #"{"request":"access_token","min_valid_period":1e99}"#, #"{"request":"access_token","force_refresh":"yes"}"#,
        #"{"request":"unlock","key":"a"}"#, #"{"request":"access_token","claims":"[]"}"#,
        #"{"request":"access_token","x":[[[[1]]]]}"#,
    ])
    func refusesAnythingElse(text: String) {
        #expect(throws: UsageError.self) { try AgentRequest(parsing: Array(text.utf8)) }
    }

    @Test func readsWhatItWrites() throws {
        var token = AgentRequest.Token()
        token.serves = "https://git.test/team"
        token.issuer = "https://issuer.test"
        token.clientID = "client"
        token.user = "é\"\\"
        token.scopes = ["a"]
        token.audience = "x"
        token.claims = #"{"a":1}"#
        token.forcesRefresh = true
        token.wantsIDToken = true
        token.usesCacheOnly = true
        token.allowsExpiredToken = true
        token.hint = "test"
        let passPhrase = AgentRequest.PassPhrase(key: "key-file=/a b", text: "é\t\"\\ ")
        for request in [AgentRequest.token(token), .accounts, .status, .lock, .unlock(nil), .unlock(passPhrase), .stop]
        {
            #expect(request.line.last == 0x0A && !request.line.dropLast().contains(0x0A))
            #expect(try AgentRequest(parsing: request.line) == request)
        }
    }

    /// The end of an object is found wherever the pieces are cut.
    @Test(arguments: [
        (#"{}"#, "\n"), (#" {"a":"}\"{","b":[{}]}"#, ""), (#"{"a":"\\"}"#, "\u{0}"), (#"{"a":1}"#, #"{"b":2}"#),
    ])
    func findsTheEndOfAnObject(object: String, rest: String) {
        let bytes = Array((object + rest).utf8)
        var scanner = ObjectScanner()
        for end in 1..<object.utf8.count { #expect(scanner.scan(Array(bytes[..<end])) == .incomplete) }
        #expect(scanner.scan(bytes) == .complete(end: object.utf8.count))
    }

    /// A public key in base64 is how clients of oidc-agent begin its encrypted form.
    @Test(arguments: ["[1]", "\"a\"", "]", "}", "nGyS0ySJmoNmjJHmqJoLbLBD9Qlz=", "\u{0}{}", "\u{FEFF}{}"])
    func noticesWhatIsNoObject(text: String) {
        var scanner = ObjectScanner()
        #expect(scanner.scan(Array(text.utf8)) == .notAnObject)
    }
}
