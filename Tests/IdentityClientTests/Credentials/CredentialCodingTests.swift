// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct CredentialCodingTests {
    private func decode(_ bytes: [UInt8]) throws -> AccountCredentials {
        try AccountCredentials(decoding: bytes, rule: Authority.scopeRule(forPartition:))
    }

    private func decode(_ text: String) throws -> AccountCredentials { try decode(Array(text.utf8)) }

    private static let record = """
        {"v":1,"incarnation":"i","authority_partition":"oidc|https://h","client_id":"c","environment":"h","home_account_id":"a",\
        "account_id":"a","more":{"deep":[1,1.50,null]},"AppMetadata":{"k":{"family_id":"1"}},\
        "Account":{"k":{"realm":"r","local_account_id":"l","username":"u","extra":"1"}},\
        "IdToken":{"k":{"realm":"r","secret":"id","extra":"2"}},\
        "RefreshToken":{"k":{"secret":"rt","extra":"3"}},\
        "AccessToken":{"k":{"secret":"at","realm":"r","target":"read","cached_at":"1700000000","expires_on":"1700003600","extra":"4"}}}
        """

    /// Members that another version or library wrote are kept at every level.
    @Test func keepsUnknownMembers() throws {
        let text = String(decoding: try decode(Self.record).encoded(), as: UTF8.self)
        for kept in [#""more":{"deep":[1,1.50,null]}"#, #""AppMetadata":{"k":{"family_id":"1"}}"#] {
            #expect(text.contains(kept))
        }
        let json = try Fixture.json(text)
        for (section, value) in [("Account", "1"), ("IdToken", "2"), ("RefreshToken", "3"), ("AccessToken", "4")] {
            guard case .object(let entity)? = json.object(section)?.members.first?.value else {
                Issue.record("no \(section)")
                continue
            }
            #expect(entity.string("extra") == value, "\(section)")
        }
    }

    @Test func writesTheUnifiedSchema() throws {
        var credentials = Fixture.credentials(
            partition: "entra|login.microsoftonline.com",
            account: "uid.utid",
            accessTokens: [
                Fixture.accessToken(realm: "utid", scopes: ["User.Read"], rule: ScopeRule(ignoresCase: true))
            ]
        )
        credentials.environment = "login.microsoftonline.com"
        credentials.profiles = [
            CachedProfile(realm: "utid", localAccountID: "uid", username: "U", isHomeTenant: true, idToken: "id")
        ]
        let json = try Fixture.json(String(decoding: credentials.encoded(), as: UTF8.self))
        let names = ["Account", "IdToken", "RefreshToken", "AccessToken"].map { json.object($0)?.members.map(\.name) }
        let prefix = "uid.utid-login.microsoftonline.com-"
        #expect(
            names == [
                [prefix + "utid"], [prefix + "idtoken-client-utid-"], [prefix + "refreshtoken-client--"],
                [prefix + "accesstoken-client-utid-user.read"],
            ]
        )
        let token = try #require(json.object("AccessToken")?.members.first?.value)
        guard case .object(let entity) = token else { return }
        #expect(entity.string("target") == "User.Read")
        #expect(entity.string("expires_on") == "\(Fixture.now + 3600)")
        #expect(entity.string("credential_type") == "AccessToken")
    }

    /// Earlier versions do not write this member; they keep it as an unknown one.
    @Test func tellsWhichScopesWereDeclined() throws {
        #expect(try decode(Self.record).refreshToken?.declinedScopes == [])
        var credentials = try decode(Self.record)
        credentials.refreshToken?.declinedScopes = ["write", "more"]
        let text = String(decoding: credentials.encoded(), as: UTF8.self)
        #expect(text.contains(#""declined_target":"write more""#))
        #expect(try decode(text) == credentials)
        credentials.refreshToken?.declinedScopes = []
        #expect(!String(decoding: credentials.encoded(), as: UTF8.self).contains("declined_target"))
    }

    /// Earlier versions wrote the time of expiry here.
    @Test(
        arguments: [
            ("1700007200", 1_700_007_200), ("1700003600", nil), ("1600000000", nil), ("soon", nil),
            ("9223372036854775807", nil),
        ] as [(String, Int64?)]
    )
    func readsTheExtendedLifetime(text: String, expected: Int64?) throws {
        let end = #""expires_on":"1700003600""#
        let credentials = try decode(Self.record.replacing(end, with: end + #","extended_expires_on":"\#(text)""#))
        let token = try #require(credentials.accessTokens.first)
        #expect(token.extendedExpiresOn == expected)
        let written = String(decoding: credentials.encoded(), as: UTF8.self)
        #expect(written.contains(#""extended_expires_on":"\#(expected ?? 1_700_003_600)""#))
        #expect(try decode(written) == credentials)
    }

    @Test func keepsANewerVersion() throws {
        for spelled in ["2", #""2""#] {
            let credentials = try decode(Self.record.replacing(#""v":1"#, with: #""v":\#(spelled)"#))
            #expect(credentials.version == 2)
            #expect(try decode(credentials.encoded()).version == 2)
        }
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", "\u{0}", "{\"v\":1}", record.replacing(#""client_id":"c","#, with: ""),
        record.replacing(#""incarnation":"i""#, with: #""incarnation":7"#),
        record.replacing(#""account_id":"a""#, with: #""account_id":null"#),
        record.replacing(#""secret":"rt""#, with: #""secret":7"#), record.replacing(#""secret":"at","#, with: ""),
        record.replacing(#""target":"read","#, with: ""), record.replacing("\"1700003600\"", with: "\"soon\""),
        record.replacing("\"1700003600\"", with: "\"9223372036854775807\""),
        record.replacing("\"1700000000\"", with: "\"-9223372036854775808\""),
        record.replacing("\"1700003600\"", with: "\"99999999999999999999\""),
        record.replacing(#""local_account_id":"l","#, with: ""), record + "x",
    ])
    func refusesADamagedRecord(text: String) {
        #expect(throws: (any Error).self) { try decode(text) }
    }

    /// Records that are truncated or changed anywhere never cause a crash. Every record that is read can be written and read
    /// again.
    @Test func survivesEveryMutation() throws {
        let bytes = Array(Self.record.utf8)
        var generator = SeededGenerator(seed: 7)
        for length in 0..<bytes.count { #expect(throws: (any Error).self) { try decode(Array(bytes[..<length])) } }
        for _ in 0..<1500 {
            var mutated = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                mutated[Int.random(in: 0..<mutated.count, using: &generator)] = UInt8.random(
                    in: 0x20...0x7E,
                    using: &generator
                )
            }
            guard let credentials = try? decode(mutated) else { continue }
            let again = try decode(credentials.encoded())
            #expect(try decode(again.encoded()) == again)
            _ = again.selection(for: CredentialRequest(scopes: ["read"]), at: Fixture.now)
            _ = again.tidied(at: Fixture.now)
        }
    }

    @Test(arguments: [11, 12, 13] as [UInt64]) func roundTripsAnything(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let credentials = Self.random(&generator)
            #expect(try decode(credentials.encoded()) == credentials)
        }
    }

    private static func random(_ generator: inout SeededGenerator) -> AccountCredentials {
        let texts = [
            "", "a", "ä", "🙂", "\"", "\\", "\n", "\u{0}", "|", ".", "-", " ", "/", "x.y", "\u{2028}", "e\u{301}",
        ]
        func text(_ generator: inout SeededGenerator) -> String {
            (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                texts[Int.random(in: 0..<texts.count, using: &generator)]
            }.joined()
        }
        func optional(_ generator: inout SeededGenerator) -> String? {
            Bool.random(using: &generator) ? text(&generator) + "x" : nil
        }
        let partition = Bool.random(using: &generator) ? "entra|h" : "oidc|h"
        let rule = Authority.scopeRule(forPartition: partition)
        var credentials = AccountCredentials(
            signInID: text(&generator),
            partition: partition,
            environment: text(&generator),
            clientID: text(&generator),
            accountID: Account.ID(rawValue: text(&generator)),
            homeAccountID: text(&generator)
        )
        credentials.profiles = (0..<Int.random(in: 0...3, using: &generator)).map { index in
            CachedProfile(
                realm: "r\(index)" + text(&generator).lowercased(),
                localAccountID: text(&generator),
                username: optional(&generator),
                name: optional(&generator),
                policy: optional(&generator),
                isHomeTenant: Bool.random(using: &generator),
                idToken: optional(&generator)
            )
        }
        if Bool.random(using: &generator) {
            credentials.refreshToken = CachedRefreshToken(
                secret: text(&generator),
                familyID: optional(&generator),
                scopes: Bool.random(using: &generator) ? ["read", "Write"] : [],
                declinedScopes: Bool.random(using: &generator) ? ["more", "Most"] : [],
                modifiedAt: Int64.random(in: 0...Fixture.now, using: &generator),
                expiresOn: Bool.random(using: &generator) ? Fixture.now : nil
            )
        }
        credentials.deviceSecret = optional(&generator)
        credentials.accessTokens = (0..<Int.random(in: 0...4, using: &generator)).map { index in
            CachedAccessToken(
                secret: text(&generator),
                realm: text(&generator),
                authorityTenant: optional(&generator),
                scopes: ["s\(index)", "Common"],
                requestedScopes: Bool.random(using: &generator) ? ["s\(index)", "Common"] : ["t"],
                tokenType: Bool.random(using: &generator) ? "Bearer" : "pop",
                cachedAt: Int64.random(in: 0...Fixture.now, using: &generator),
                expiresOn: Int64.random(in: 0...Fixture.now * 2, using: &generator),
                refreshOn: Bool.random(using: &generator) ? Fixture.now : nil,
                rule: rule
            )
        }
        return credentials
    }
}
