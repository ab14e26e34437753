// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// RFC 9110 §11.6.1 and §5.6: the content of `WWW-Authenticate`.
@Suite struct AuthenticationChallengeTests {
    struct Row: Sendable {
        let fields: [String]
        let challenges: [AuthenticationChallenge]

        init(_ fields: String..., means challenges: AuthenticationChallenge...) {
            self.fields = fields
            self.challenges = challenges
        }
    }

    private static func bearer(_ parameters: [String: String]) -> AuthenticationChallenge {
        AuthenticationChallenge(scheme: "bearer", parameters: parameters)
    }

    static let rows: [Row] = [
        Row("Bearer", means: bearer([:])),
        Row("bEaReR REALM=\"api\"", means: bearer(["realm": "api"])),
        Row("Bearer realm=api,error=invalid_token", means: bearer(["realm": "api", "error": "invalid_token"])),
        Row("Bearer\trealm = \"a\" ,\t error=\"b\"", means: bearer(["realm": "a", "error": "b"])),
        Row(
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            means: AuthenticationChallenge(
                scheme: "newauth",
                parameters: ["realm": "apps", "type": "1", "title": "Login to \"apps\""]
            ),
            AuthenticationChallenge(scheme: "basic", parameters: ["realm": "simple"])
        ),
        Row(
            "Negotiate, Bearer a=\"b\", Negotiate YII+/=, Basic realm=\"x, Bearer y=\"",
            means: AuthenticationChallenge(scheme: "negotiate"),
            bearer(["a": "b"]),
            AuthenticationChallenge(scheme: "negotiate", token68: "YII+/="),
            AuthenticationChallenge(scheme: "basic", parameters: ["realm": "x, Bearer y="])
        ),
        Row(
            "Basic realm=\"a\"",
            "Bearer b=c",
            means: .init(scheme: "basic", parameters: ["realm": "a"]),
            bearer(["b": "c"])
        ),
        Row(", ,Bearer a=b,, c=d,", means: bearer(["a": "b", "c": "d"])),
        Row("Bearer a=\"\"", means: bearer(["a": ""])),
        Row("Bearer a=\"gr\\üß\"", means: bearer(["a": "grüß"])),
        // A repeated parameter invalidates its challenge, but not the next one.
        Row("Bearer a=1, A=2, Basic realm=x", means: .init(scheme: "basic", parameters: ["realm": "x"])),
        // Malformed values.
        Row(""),
        Row(" , ,"),
        Row("="),
        Row("Bearer a=\"open"),
        Row("Bearer a=\"end\\"),
        Row("Bearer a=b c=d"),
        Row("Bearer a=\"b\"c"),
        Row("Bearer a=\"b\u{1}\""),
        Row("Bearer a=b, \"x\""),
        Row("Bearer/x a=b"),
        Row(
            "Basic a=b",
            "Bearer a=\"",
            "Digest c=d",
            means: .init(scheme: "basic", parameters: ["a": "b"]),
            .init(scheme: "digest", parameters: ["c": "d"])
        ),
    ]

    @Test(arguments: rows.indices)
    func readsChallenges(row: Int) {
        #expect(AuthenticationChallenge.parse(Self.rows[row].fields) == Self.rows[row].challenges)
    }

    @Test func boundsWhatItReads() {
        #expect(AuthenticationChallenge.parse([String](repeating: "Basic", count: 1000)).count == 32)
        #expect(AuthenticationChallenge.parse(["A, " + String(repeating: "B, ", count: 1000)]).count == 32)
        #expect(AuthenticationChallenge.parse(["Bearer a=\"" + String(repeating: "x", count: 65_536) + "\""]).isEmpty)
    }

    struct ClaimsRow: Sendable {
        let text: String
        let claims: String?
    }

    static let object = #"{"access_token":{"nbf":{"essential":true,"value":"1?>"}}}"#

    static let claimsRows = [
        ClaimsRow(text: Base64URL.encode(Array(object.utf8)), claims: object),
        // The same value in the other alphabet and with padding: 58 bytes end in "==".
        ClaimsRow(
            text: Base64URL.encode(Array(object.utf8)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : String($0) }.joined()
                + String(repeating: "=", count: (3 - object.utf8.count % 3) % 3),
            claims: object
        ),
        ClaimsRow(text: object, claims: object),
        ClaimsRow(text: Base64URL.encode(Array("[1]".utf8)), claims: nil),
        ClaimsRow(text: Base64URL.encode([0xFF, 0xFE]), claims: nil),
        ClaimsRow(text: "", claims: nil),
        ClaimsRow(text: "no json", claims: nil),
        ClaimsRow(
            text: Base64URL.encode(Array(#"{"a":"\#(String(repeating: "x", count: 16_384))"}"#.utf8)),
            claims: nil
        ),
    ]

    @Test(arguments: claimsRows.indices)
    func readsClaims(row: Int) throws {
        let text = Self.claimsRows[row].text.split(separator: "\"", omittingEmptySubsequences: false).joined(
            separator: "\\\""
        )
        let field = "Bearer realm=\"\", error=\"Insufficient_Claims\", claims=\"\(text)\""
        let challenge = try #require(AuthenticationChallenge.parse([field]).first)
        #expect(challenge.claims == Self.claimsRows[row].claims)
    }

    @Test func takesClaimsOnlyFromAChallengeOfATokenThatLacksClaims() {
        let claims = "claims=\"\(Base64URL.encode(Array(Self.object.utf8)))\""
        for field in [
            "Bearer error=\"invalid_token\", \(claims)", "Bearer \(claims)",
            "Digest error=insufficient_claims, \(claims)",
        ] {
            #expect(AuthenticationChallenge.parse([field]).compactMap(\.claims).isEmpty, "\(field)")
        }
    }

    /// A seeded search: no input may crash the reader, and its results follow the grammar.
    @Test func survivesMutation() {
        var random = SeededGenerator(state: 9110)
        let source = Array(
            "Bearer realm=\"a\\\"b\", error=insufficient_claims, claims=\"e30=\", Negotiate YII=, Basic".utf8
        )
        for _ in 0..<5000 {
            var bytes = source
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: index)
                default: bytes.remove(at: index)
                }
            }
            for challenge in AuthenticationChallenge.parse([String(decoding: bytes, as: UTF8.self)]) {
                #expect(!challenge.scheme.isEmpty && challenge.scheme == challenge.scheme.lowercased())
                #expect(challenge.token68 == nil || challenge.parameters.isEmpty)
                _ = challenge.claims
            }
        }
    }
}
