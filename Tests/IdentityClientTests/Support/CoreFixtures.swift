// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

@testable import IdentityClient

/// The starting values of most tests of the core.
enum Fixture {
    static let now: Int64 = 1_700_000_000
    static let guid = "f8cdef31-a31e-4b4a-93e4-5f571e91255a"
    static let oid = "00000000-0000-0000-66f3-3332eca7ea81"
    static let bearerRule = ScopeRule(ignoresCase: false)

    static var context: RequestContext { RequestContext(correlationID: UUID(), logger: nil) }

    static func json(_ text: String) throws -> JSONObject {
        try JSONObject(parsing: Array(text.utf8))
    }

    static func scopes(_ scopes: [String]) -> Set<Scope> {
        Set(scopes.map(Scope.init(rawValue:)))
    }

    static func accessToken(
        _ secret: String = "access",
        realm: String = "tenant",
        authorityTenant: String? = nil,
        scopes: [String] = ["read"],
        requested: [String]? = nil,
        type: String = "Bearer",
        cachedAt: Int64 = now,
        lifetime: Int64 = 3600,
        refreshOn: Int64? = nil,
        rule: ScopeRule = bearerRule
    ) -> CachedAccessToken {
        CachedAccessToken(
            secret: secret,
            realm: realm,
            authorityTenant: authorityTenant,
            scopes: scopes,
            requestedScopes: requested ?? scopes,
            tokenType: type,
            cachedAt: cachedAt,
            expiresOn: cachedAt + lifetime,
            refreshOn: refreshOn,
            rule: rule
        )
    }

    static func credentials(
        partition: String = "oidc|https://issuer.example",
        account: String = "https://issuer.example|subject",
        refreshToken: String? = "refresh",
        accessTokens: [CachedAccessToken] = []
    ) -> AccountCredentials {
        var credentials = AccountCredentials(
            signInID: "incarnation",
            partition: partition,
            environment: "issuer.example",
            clientID: "client",
            accountID: Account.ID(rawValue: account),
            homeAccountID: account
        )
        credentials.refreshToken = refreshToken.map { CachedRefreshToken(secret: $0, modifiedAt: now) }
        credentials.accessTokens = accessTokens
        return credentials
    }

    static func grant(
        _ response: String,
        requested: [String] = ["read"],
        profile: CachedProfile? = nil,
        rule: ScopeRule = bearerRule
    ) throws -> TokenGrant {
        TokenGrant(
            response: try TokenResponse(try json(response)),
            requestedScopes: requested,
            identity: AccountIdentity(
                accountID: Account.ID(rawValue: "https://issuer.example|subject"),
                homeAccountID: "https://issuer.example|subject"
            ),
            profile: profile,
            realm: "tenant",
            rule: rule
        )
    }

    /// A sign-in that leaves these credentials where there are none.
    static func signIn(_ credentials: AccountCredentials = credentials()) throws -> AccountWrite {
        let token = credentials.refreshToken.map { #""refresh_token":"\#($0.secret)""# } ?? ""
        return .signIn(credentials, try grantWithoutAccessToken("{\(token)}"))
    }

    private static func grantWithoutAccessToken(_ response: String) throws -> TokenGrant {
        var grant = try grant(#"{"access_token":"a","token_type":"Bearer"}"#, requested: [])
        grant.response = TokenResponse(reading: try json(response))
        return grant
    }

    /// Returns a compact token with these claims and a signature that no test checks.
    static func idToken(_ claims: String) -> String {
        "\(Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))).\(Base64URL.encode(Array(claims.utf8))).c2ln"
    }
}

/// A clock that moves only when a test advances it.
final class StillClock: WallClock {
    var now: Date { Date(timeIntervalSince1970: Double(Fixture.now)) }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
    }
}
