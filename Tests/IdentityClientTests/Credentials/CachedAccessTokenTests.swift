// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct CachedAccessTokenTests {
    static let now = Fixture.now

    /// Lifetime, age, leeway.
    @Test(
        arguments: [
            (3600, 0, 300, true), (3600, 3299, 300, true), (3600, 3300, 300, false), (3600, 3600, 300, false),
            (3600, 3600, 0, false),
            (3600, 3599, 0, true), (3600, 4000, 0, false),
            // At most a tenth of the lifetime: a token that lives for a minute is used for 54 s.
            (60, 53, 300, true), (60, 54, 300, false), (9, 8, 300, true),
            // A token from the future: the clock was set back.
            (3600, -300, 300, true), (3600, -301, 300, false),
            (0, 0, 0, false), (-1, 0, 0, false), (-3600, -10, 0, false),
            // A lifetime of more than ten years is a mistake, and is read as ten years.
            (315_360_000, 0, 300, true), (315_360_001, 0, 300, false), (9_000_000_000, 0, 300, false),
        ] as [(Int64, Int64, Int64, Bool)]
    )
    func isUsable(lifetime: Int64, age: Int64, leeway: Int64, expected: Bool) {
        let token = Fixture.accessToken(cachedAt: Self.now - age, lifetime: lifetime)
        #expect(token.isUsable(at: Self.now, leeway: leeway) == expected)
    }

    /// Lifetime, age, requested minimum validity.
    @Test(
        arguments: [
            (3600, 0, 0, true), (3600, 1799, 1800, true), (3600, 1800, 1800, false), (3600, 0, 3599, true),
            (3600, 359, 3599, true), (3600, 360, 3599, false), (3600, 359, 3250, true), (3600, 360, 3239, true),
            // The leeway still applies.
            (3600, 3299, 10, true), (3600, 3300, 10, false),
            // The token is renewed only after a tenth of its lifetime, so that not every call renews it.
            (3600, 0, 3600, true), (3600, 359, 3600, true), (3600, 360, 3600, false), (3600, 359, 90_000, true),
            (3600, 360, 90_000, false), (5, 0, 60, true), (5, 1, 60, false), (1, 0, 60, true),
            // An invalid token stays invalid.
            (0, 0, 60, false), (-1, 0, 60, false), (3600, 3600, 60, false), (3600, -301, 60, false),
        ] as [(Int64, Int64, Int64, Bool)]
    )
    func isGoodForTheLeastValidity(lifetime: Int64, age: Int64, minimum: Int64, expected: Bool) {
        let token = Fixture.accessToken(cachedAt: Self.now - age, lifetime: lifetime)
        #expect(token.isUsable(at: Self.now, leeway: 300, minimumValidity: minimum) == expected)
    }

    @Test(arguments: [(nil, false), (now - 300, true), (now + 1, false)] as [(Int64?, Bool)])
    func isDueForRefresh(refreshOn: Int64?, expected: Bool) {
        #expect(Fixture.accessToken(refreshOn: refreshOn).isDueForRefresh(at: Self.now) == expected)
    }

    @Test func neverCountsBeyondTheClock() {
        let token = Fixture.accessToken(cachedAt: Self.now, lifetime: 3600)
        for now in [Int64(0), Self.now + 3600, Self.now * 100] { #expect(!token.isAlive(at: now)) }
    }
}

@Suite struct CredentialSelectionTests {
    static let now = Fixture.now
    static let token = Fixture.accessToken(scopes: ["read", "write", "openid"])

    private func kind(_ selection: CredentialSelection) -> String {
        switch selection {
        case .valid(let token): "valid \(token.secret)"
        case .stale(let token): "stale \(token.secret)"
        case .refreshable(let token): "refreshable \(token.secret)"
        case .unavailable: "unavailable"
        }
    }

    @Test(arguments: [
        (["read"], "valid access"), (["read", "write"], "valid access"), ([], "refreshable refresh"),
        (["Read"], "refreshable refresh"),
        (["read", "admin"], "refreshable refresh"),
        (["read", "openid", "profile", "email", "offline_access"], "valid access"),
        (["openid"], "refreshable refresh"), (["openid", "email"], "refreshable refresh"),
    ])
    func answersASubsetOfTheScopes(scopes: [String], expected: String) {
        let request = CredentialRequest(scopes: Fixture.scopes(scopes))
        let credentials = Fixture.credentials(accessTokens: [Self.token])
        #expect(kind(credentials.selection(for: request, at: Self.now)) == expected)
    }

    /// A request that names no API never gets the token of an API: the program might send it to another API.
    @Test(arguments: [[], ["openid"], ["openid", "profile", "email", "offline_access"]])
    func answersARequestWithoutAnAPIWithATokenThatWasAskedForWithout(scopes: [String]) {
        let request = CredentialRequest(scopes: Fixture.scopes(scopes))
        let api = Fixture.accessToken("api", scopes: ["mail"], lifetime: 7200)
        for requested in [[], ["openid"], ["openid", "offline_access"]] {
            let plain = Fixture.accessToken("plain", scopes: ["read"], requested: requested)
            let credentials = Fixture.credentials(accessTokens: [api, plain])
            #expect(kind(credentials.selection(for: request, at: Self.now)) == "valid plain")
            #expect(credentials.unexpiredToken(for: request, at: Self.now)?.secret == "plain")
        }
        let credentials = Fixture.credentials(accessTokens: [api])
        #expect(kind(credentials.selection(for: request, at: Self.now)) == "refreshable refresh")
        #expect(credentials.unexpiredToken(for: request, at: Self.now) == nil)
    }

    /// RFC 6749 §3.3: scopes are case-sensitive; Microsoft's providers ignore case.
    @Test func comparesScopesAsTheProviderDoes() throws {
        for (partition, ignores) in [
            ("entra|h", true), ("b2c|h|t|p", true), ("externalid|h|t", true), ("adfs|h", true), ("oidc|h", false),
            ("oauth2|h", false),
        ] {
            let rule = Authority.scopeRule(forPartition: partition)
            #expect(rule.ignoresCase == ignores)
            let token = Fixture.accessToken(scopes: ["User.Read"], rule: rule)
            let request = CredentialRequest(scopes: ["user.read"], rule: rule)
            #expect(token.fits(request) == ignores)
        }
        #expect(try Authority.entra().scopeRule.ignoresCase)
        #expect(try !Authority.openIDConnect(issuer: "https://h").scopeRule.ignoresCase)
        #expect(ScopeRule(ignoresCase: true).matchable(["OpenID", "X"]) == ["x"])
        #expect(ScopeRule(ignoresCase: false).matchable(["OpenID", "openid"]) == ["OpenID"])
    }

    /// Fewer scopes than requested: the same request gets the same answer without asking the server each time.
    @Test func answersTheSameRequestWithAReducedGrant() {
        let token = Fixture.accessToken(scopes: ["read"], requested: ["read", "write", "openid"])
        let credentials = Fixture.credentials(accessTokens: [token])
        for (scopes, expected) in [
            (["read", "write"], "valid access"), (["read"], "valid access"), (["write"], "refreshable refresh"),
            (["read", "write", "more"], "refreshable refresh"),
        ] {
            let request = CredentialRequest(scopes: Fixture.scopes(scopes))
            #expect(kind(credentials.selection(for: request, at: Self.now)) == expected, "\(scopes)")
        }
    }

    @Test func staysWithinTheTenant() {
        let token = Fixture.accessToken(authorityTenant: "contoso.com", scopes: ["read"])
        let credentials = Fixture.credentials(accessTokens: [token])
        for (tenant, fits) in [
            (nil, true), ("tenant", true), ("contoso.com", true), ("other", false), ("Tenant", false), ("", false),
        ] {
            let request = CredentialRequest(scopes: ["read"], tenant: tenant)
            #expect(
                kind(credentials.selection(for: request, at: Self.now))
                    == (fits ? "valid access" : "refreshable refresh")
            )
        }
    }

    @Test func takesTheOneThatLivesLongest() {
        let tokens = [("short", 1000), ("long", 5000), ("middle", 3000)].map {
            Fixture.accessToken($0.0, lifetime: $0.1)
        }
        let other = Fixture.accessToken("other", scopes: ["admin"], lifetime: 9000)
        let credentials = Fixture.credentials(accessTokens: tokens + [other])
        #expect(kind(credentials.selection(for: CredentialRequest(scopes: ["read"]), at: Self.now)) == "valid long")
    }

    @Test(arguments: ["pop", "DPoP", "mac", ""]) func neverGivesAnotherTypeThanBearer(type: String) {
        let credentials = Fixture.credentials(accessTokens: [Fixture.accessToken(type: type)])
        #expect(
            kind(credentials.selection(for: CredentialRequest(scopes: ["read"]), at: Self.now)) == "refreshable refresh"
        )
        #expect(credentials.unexpiredToken(for: CredentialRequest(scopes: ["read"]), at: Self.now) == nil)
    }

    @Test(arguments: ["bearer", "BEARER", "Bearer"]) func spellsBearerOneWay(type: String) {
        #expect(Fixture.accessToken(type: type).tokenType == "Bearer")
    }

    @Test func saysWhenTheServerWantsANewOne() {
        let token = Fixture.accessToken(refreshOn: Self.now - 300)
        let request = CredentialRequest(scopes: ["read"])
        #expect(
            kind(Fixture.credentials(accessTokens: [token]).selection(for: request, at: Self.now)) == "stale access"
        )
        let alone = Fixture.credentials(refreshToken: nil, accessTokens: [token])
        #expect(kind(alone.selection(for: request, at: Self.now)) == "valid access")
        #expect(kind(Fixture.credentials(refreshToken: nil).selection(for: request, at: Self.now)) == "unavailable")
    }

    @Test func passesCachedTokensOverWhenTold() {
        let credentials = Fixture.credentials(accessTokens: [Self.token])
        let request = CredentialRequest(scopes: ["read"], skipsAccessToken: true)
        #expect(kind(credentials.selection(for: request, at: Self.now)) == "refreshable refresh")
    }

    /// A token that is not valid for long enough is renewed if possible, and used otherwise.
    @Test(
        arguments: [
            (1800, true, "valid access"), (1801, true, "refreshable refresh"), (1801, false, "valid access"),
        ] as [(Int64, Bool, String)]
    )
    func renewsWhatIsNotGoodForLongEnough(minimum: Int64, isRenewable: Bool, expected: String) {
        let token = Fixture.accessToken(cachedAt: Self.now - 1799)
        let refreshable = Fixture.credentials(accessTokens: [token])
        let credentials = isRenewable ? refreshable : Fixture.credentials(refreshToken: nil, accessTokens: [token])
        let request = CredentialRequest(scopes: ["read"], minimumValidity: minimum)
        #expect(kind(credentials.selection(for: request, at: Self.now)) == expected)
        #expect(credentials.unexpiredToken(for: request, at: Self.now) == token)
    }

    /// A nearly expired token is not chosen, but is used when the refresh fails.
    @Test func keepsASurvivor() {
        let token = Fixture.accessToken(cachedAt: Self.now - 3500)
        let credentials = Fixture.credentials(accessTokens: [token])
        let request = CredentialRequest(scopes: ["read"])
        #expect(kind(credentials.selection(for: request, at: Self.now)) == "refreshable refresh")
        #expect(credentials.unexpiredToken(for: request, at: Self.now) == token)
        #expect(credentials.unexpiredToken(for: request, at: Self.now + 100) == nil)
    }
}
