// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import OAuthWire

/// Encodes and signs a grant, outside the provider's lock because signing takes a millisecond.
struct TokenResponseBuilder: Sendable {
    let state: ProviderState
    let tampering: IDTokenTampering?

    func response(_ issue: TokenIssue) throws -> JSONObject {
        let settings = issue.settings
        var body = JSONObject([("token_type", .string(issue.tokenType))])
        if let token = issue.accessToken {
            body["access_token"] = .string(token)
            body["expires_in"] = .integer(settings.accessTokenLifetime.components.seconds)
        }
        // Entra ID sends it always, mostly with the lifetime itself.
        if let extended = settings.extendedLifetime ?? (state.profile.isEntra ? settings.accessTokenLifetime : nil) {
            body["ext_expires_in"] = .integer(extended.components.seconds)
        }
        if let refreshIn = settings.refreshIn { body["refresh_in"] = .integer(refreshIn.components.seconds) }
        if let token = issue.refreshToken {
            body["refresh_token"] = .string(token)
            if state.profile.isB2C || settings.tellsRefreshTokenLifetime {
                body["refresh_token_expires_in"] = .integer(settings.refreshTokenLifetime.components.seconds)
            }
        }
        // Entra does not list `offline_access` among the scopes of an access token.
        let scopes = issue.scopes.filter { !state.profile.isEntra || $0 != "offline_access" }
        body["scope"] = .string(scopes.joined(separator: " "))
        if let exchange = issue.exchange {
            body["issued_token_type"] = .string(exchange.issuedTokenType)
            if exchange.issuedTokenType.hasSuffix(":id_token") {
                body["access_token"] = .string(try idToken(issue))
                body["token_type"] = .string("N_A")
                body["expires_in"] = .integer(settings.idTokenLifetime.components.seconds)
            }
        }
        if issue.wantsIDToken, body["issued_token_type"]?.string?.hasSuffix(":id_token") != true {
            body["id_token"] = .string(try idToken(issue))
        }
        body["device_secret"] = issue.deviceSecret.map { .string($0) }
        if issue.wantsClientInfo {
            body["client_info"] = .string(state.clientInfo(issue.person, at: issue.authorization.address))
        }
        return body
    }

    private func idToken(_ issue: TokenIssue) throws -> String {
        let authorization = issue.authorization
        let now = Int64(issue.issuedAt.timeIntervalSince1970.rounded(.down))
        var claims = JSONObject([
            ("iss", .string(state.tokenIssuer(of: authorization.address, for: issue.person))),
            ("sub", .string(issue.person.subject)),
            ("aud", .string(issue.exchange?.audience ?? authorization.clientID)),
            ("iat", .integer(now)),
            ("nbf", .integer(now)),
            ("exp", .integer(now + issue.settings.idTokenLifetime.components.seconds)),
            ("auth_time", .integer(Int64(authorization.authenticatedAt.timeIntervalSince1970.rounded(.down)))),
        ])
        if let nonce = issue.nonce { claims["nonce"] = .string(nonce) }
        if let token = issue.accessToken { claims["at_hash"] = .string(Self.halfHash(token)) }
        if let secret = issue.deviceSecret { claims["ds_hash"] = .string(Self.halfHash(secret)) }
        for (name, value) in state.personClaims(issue.person, at: authorization.address, scopes: issue.scopes) {
            claims[name] = value
        }
        let key = try state.signingKey(issue.keyIndex)
        return try tampering?.token(claims, key: key) ?? key.token(claims)
    }

    /// - SeeAlso: [OpenID Connect Core §3.1.3.6](https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken)
    static func halfHash(_ text: String) -> String {
        Base64URL.encode(Array(Array(SHA256.hash(data: Array(text.utf8))).prefix(16)))
    }
}
