// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityCapture
@testable import IdentityClient

/// Only what is known to be harmless is kept.
@Suite struct RedactionTests {
    @Test(arguments: [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("response_type", "code id_token"),
        ("error", "invalid_grant"), ("token_type", "Bearer"), ("code_challenge_method", "S256"), ("expires_in", "3599"),
        ("client_info", "1"), ("correlation_id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "120"), ("timestamp", "2026-11-25 12:00:00Z"),
        ("content-type", "application/json"), ("scopes_supported", "User.Read"), ("issuer", "https://h.test/t1/v2.0"),
        ("token_endpoint", "https://h.test:8443/oauth2/v2.0/token"),
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("issued_token_type", "urn:ietf:params:oauth:token-type:saml2"), ("resource", "https://api.test/v1"),
    ])
    func keeps(_ name: String, _ value: String) {
        var redaction = Redaction()
        #expect(redaction.text(value, named: name, isOurs: false) == value)
    }

    @Test(arguments: [
        ("error", "S3cr3tValue"), ("error", "alice@example.test"), ("grant_type", "abc123"), ("expires_in", "36OO"),
        ("expires_in", "1234567890123456"), ("correlation_id", "not-hexadecimal"), ("date", "yesterday"),
        ("client_id", "unknown"), ("scope", "S3cr3t"), ("issuer", "h.test/t"), ("issuer", "https://a@h.test/"),
        ("scopes_supported", "alice@example.test"), ("user-agent", "server/1"), ("custom", "value"), ("x5c", "MIIB"),
        ("subject_token", "abc"), ("actor_token", "abc"), ("device_secret", "abc"), ("issued_token_type", "urn:S3cr3t"),
        ("client_info", "eyJ1aWQiOiJh"), ("name", "alice"), ("given_name", "alice"),
        ("oid", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ])
    func replaces(_ name: String, _ value: String) {
        var redaction = Redaction()
        #expect(redaction.text(value, named: name, isOurs: false) == "<\(name == "issuer" ? "address" : name) 1>")
    }

    /// The value may have any form.
    @Test func keepsNoValueOfASecretsName() {
        for name in RedactionRule.secretNames {
            for value in ["alice", "1234567", "0f8fad5b", "true", "https://h.test/", "openid"] {
                var redaction = Redaction()
                let shown = redaction.text(value, named: name, isOurs: true)
                #expect(shown == "<\(name) 1>", "\(name): \(value)")
            }
        }
    }

    /// The text of another error may have anything in it.
    @Test func keepsNoTextOfAnError() throws {
        struct Odd: Error, CustomStringConvertible { let description = "secret-abc" }
        let capture = ExchangeCapture()
        capture.note("A step.", error: Odd())
        capture.note("A step.", error: AuthenticationError(.network, "secret-abc", underlyingError: Odd()))
        #expect(!String(decoding: capture.json(), as: UTF8.self).contains("secret"))
    }

    @Test func givesTheSameValueTheSamePlaceholderUnderAnyName() {
        var redaction = Redaction()
        let sent = redaction.items([("state", "s-123456"), ("nonce", "n-123456")], isOurs: true)
        let received = redaction.items(
            [("state", "s-123456"), ("state", "s-other1"), ("error", "s-123456")],
            isOurs: false
        )
        #expect(sent == .array([.strings(["state", "<state 1>"]), .strings(["nonce", "<nonce 1>"])]))
        #expect(
            received
                == .array([
                    .strings(["state", "<state 1>"]), .strings(["state", "<state 2>"]),
                    .strings(["error", "<state 1>"]),
                ])
        )
    }

    @Test func keepsOurOwnClientAndScopesWhereTheServerRepeatsThem() {
        var redaction = Redaction()
        let scope = "api://0f8fad5b/User.Read"
        _ = redaction.items([("client_id", "c-1"), ("scope", "openid \(scope)")], isOurs: true)
        #expect(redaction.text("c-1", named: "aud", isOurs: false) == "c-1")
        #expect(
            redaction.text("\(scope) openid Other.Scope1", named: "scope", isOurs: false) == "\(scope) openid <scope 1>"
        )
    }

    @Test func redactsTheQueryOfAnAddress() {
        var redaction = Redaction()
        let address = redaction.address("https://h.test/a?response_type=code&state=s-123456&S3=x#f", isOurs: true)
        #expect(address == "https://h.test/a?response_type=code&state=<state 1>&<name 1>=<value 1>")
        #expect(redaction.address("https://h.test/a?%zz", isOurs: true) == "https://h.test/a?<query 1>")
    }

    @Test func showsTheClaimsOfAnIDTokenByName() throws {
        var redaction = Redaction()
        _ = redaction.items([("nonce", "n-123456"), ("client_id", "c-1")], isOurs: true)
        let claims =
            #"{"iss":"https://h.test","aud":"c-1","exp":17,"nonce":"n-123456","email":"a@b.test","x":{"tel":7}}"#
        let token = Fixture.idToken(claims)
        let answer = redaction.object(JSONObject([("id_token", .string(token))]))
        let shown = try #require(answer.object("id_token")?.object("claims"))
        #expect(
            String(decoding: shown.serialized(), as: UTF8.self)
                == #"{"iss":"https://h.test","aud":"c-1","exp":17,"nonce":"<nonce 1>","email":"<email 1>","x":{"tel":"<tel 1>"}}"#
        )
        #expect(answer.object("id_token")?.string("token") == "<id_token 1>")
    }

    @Test func keepsMicrosoftsNumbersOfADescription() {
        var redaction = Redaction()
        let text = "AADSTS50076: alice@example.test must use more. Trace 1, AADB2C90118, AADSTSx"
        #expect(
            redaction.text(text, named: "error_description", isOurs: false)
                == "<error_description 1> AADSTS50076 AADB2C90118"
        )
    }

    /// A rule that keeps too much does not reveal a secret that stands elsewhere under its own name.
    @Test(arguments: ["code", "subject_token", "actor_token", "device_secret"])
    func findsSecretsInWhatWasKept(_ name: String) {
        var redaction = Redaction()
        let kept = redaction.address("https://h.test/secret-abc/token", isOurs: true)
        #expect(kept.contains("secret-abc"))
        _ = redaction.text("secret-abc", named: name, isOurs: false)
        #expect(redaction.withoutSecrets(.strings([kept, "x"])) == .strings(["<\(name) 1>", "x"]))
    }

    @Test func boundsTheCapture() throws {
        let capture = ExchangeCapture(maximumBytes: 1_000)
        for _ in 0..<100 { capture.note("A step.") }
        let object = try JSONObject(parsing: capture.json())
        let entries = try #require(object.array("entries"))
        #expect(entries.count + (object.integer("omitted") ?? 0) == 100)
        #expect(entries.count > 5 && capture.json().count < 1_500)
    }

    @Test func boundsAnAnswer() {
        var redaction = Redaction()
        let many = JSONObject((0..<500).map { ("n" + String(repeating: "a", count: $0 % 40) + "\($0)", .integer($0)) })
        #expect(redaction.object(many).members.count == 201)
        let items = redaction.items((0..<500).map { ("a", "\($0)") }, isOurs: false)
        let rows: [JSONValue] = if case .array(let rows) = items { rows } else { [] }
        #expect(rows.count == 201 && rows.last == .string("and 300 more"))
    }

    @Test func boundsThePlaceholders() {
        var redaction = Redaction()
        for number in 1...5_000 { _ = redaction.text("value-\(number)", named: "custom", isOurs: false) }
        #expect(redaction.text("one more", named: "custom", isOurs: false) == "<custom>")
    }
}
