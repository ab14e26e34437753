// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

/// Access tokens that are bound to a key, beside bearer tokens.
@Suite struct BoundTokenTests {
    private static let first = TokenBinding(scheme: .pop, keyID: "first")
    private static let second = TokenBinding(scheme: .pop, keyID: "second")

    private static func token(_ secret: String, _ binding: TokenBinding?, scopes: [String] = ["read"])
        -> CachedAccessToken
    {
        CachedAccessToken(
            secret: secret,
            realm: "tenant",
            scopes: scopes,
            requestedScopes: scopes,
            tokenType: binding == nil ? "bearer" : "pop",
            keyID: binding?.keyID,
            cachedAt: Fixture.now,
            expiresOn: Fixture.now + 3600,
            rule: Fixture.bearerRule
        )
    }

    private static func grant(_ secret: String, _ binding: TokenBinding?) throws -> TokenGrant {
        let type = binding == nil ? "Bearer" : "pop"
        let json = try Fixture.json(#"{"access_token":"\#(secret)","token_type":"\#(type)","expires_in":3600}"#)
        return TokenGrant(
            response: try TokenResponse(json),
            requestedScopes: ["read"],
            identity: AccountIdentity(accountID: Account.ID(rawValue: "a"), homeAccountID: "a"),
            realm: "tenant",
            rule: Fixture.bearerRule,
            binding: binding
        )
    }

    private func selected(_ tokens: [CachedAccessToken], _ binding: TokenBinding?) -> String? {
        let request = CredentialRequest(scopes: ["read"], binding: binding)
        let credentials = Fixture.credentials(accessTokens: tokens)
        guard case .valid(let token) = credentials.selection(for: request, at: Fixture.now) else { return nil }
        return token.secret
    }

    @Test(arguments: [(nil, "plain"), (first, "one"), (second, "two")])
    func answersARequestForItsOwnSchemeAndKey(binding: TokenBinding?, expected: String) {
        let tokens = [Self.token("one", Self.first), Self.token("plain", nil), Self.token("two", Self.second)]
        #expect(selected(tokens, binding) == expected)
        #expect(selected(tokens.filter { $0.secret != expected }, binding) == nil)
        let credentials = Fixture.credentials(accessTokens: tokens.filter { $0.secret != expected })
        let request = CredentialRequest(scopes: ["read"], binding: binding)
        #expect(credentials.unexpiredToken(for: request, at: Fixture.now) == nil)
    }

    @Test func replacesTheTokenOfItsOwnSchemeOnly() throws {
        var credentials = Fixture.credentials()
        for (secret, binding) in [("plain", nil), ("one", Self.first), ("again", nil), ("two", Self.second)] {
            credentials = credentials.applying(try Self.grant(secret, binding), at: Fixture.now)
        }
        #expect(Set(credentials.accessTokens.map(\.secret)) == ["again", "two"])
        #expect(selected(credentials.accessTokens, nil) == "again")
        #expect(selected(credentials.accessTokens, Self.second) == "two")
        #expect(selected(credentials.accessTokens, Self.first) == nil)
    }

    /// Other programs that know the schema hand out what is in the section of access tokens.
    @Test func isKeptInASectionOfItsOwn() throws {
        let tokens = [Self.token("plain", nil), Self.token("one", Self.first)]
        let credentials = Fixture.credentials(accessTokens: tokens)
        let bytes = credentials.encoded()
        let json = try JSONObject(parsing: bytes)
        #expect(json.object("AccessToken")?.members.count == 1)
        let section = try #require(json.object("BoundAccessToken"))
        let name = try #require(section.members.first?.name)
        #expect(section.members.count == 1 && name.hasSuffix("-tenant-read-pop"))
        let entity = try #require(section.object(name))
        #expect(entity.string("kid") == "first" && entity.string("token_type") == "PoP")
        #expect(entity.string("credential_type") == "BoundAccessToken")
        let again = try AccountCredentials(decoding: bytes) { _ in Fixture.bearerRule }
        #expect(again == credentials && again.encoded() == bytes)
        #expect(selected(again.accessTokens, Self.first) == "one")
    }

    @Test func leavesTheSectionOutWithoutABoundToken() throws {
        let json = try JSONObject(parsing: Fixture.credentials(accessTokens: [Self.token("plain", nil)]).encoded())
        #expect(json["BoundAccessToken"] == nil)
    }

    @Test func refusesARecordWhoseBoundTokenNamesNoKey() throws {
        var json = try JSONObject(parsing: Fixture.credentials(accessTokens: [Self.token("one", Self.first)]).encoded())
        var section = try #require(json.object("BoundAccessToken"))
        let name = try #require(section.members.first?.name)
        var entity = try #require(section.object(name))
        entity["kid"] = nil
        section[name] = .object(entity)
        json["BoundAccessToken"] = .object(section)
        #expect(throws: WireError.self) {
            try AccountCredentials(decoding: json.serialized()) { _ in Fixture.bearerRule }
        }
    }

    @Test func distinguishesRequestsBySchemeAndKey() throws {
        func request(_ binding: TokenBinding?) throws -> SilentRequest {
            SilentRequest(
                id: RecordID(partition: "p", accountID: "a"),
                authority: try .openIDConnect(issuer: "https://issuer.example"),
                scopes: ["read"],
                claims: nil,
                isForced: false,
                need: CredentialRequest(scopes: ["read"], binding: binding)
            )
        }
        let all = try [request(nil), request(Self.first), request(Self.second)]
        for (index, one) in all.enumerated() {
            for (other, two) in all.enumerated() { #expect((one == two) == (index == other)) }
        }
        #expect(Set(all.map(\.throttleKey)).count == 2)
    }
}
