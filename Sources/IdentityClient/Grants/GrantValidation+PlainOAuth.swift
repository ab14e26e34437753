// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// What servers, those of plain OAuth 2.0 above all, say in ways of their own.
extension TokenResponse {
    /// As it counts at `authority`: plain OAuth 2.0 has no ID tokens, and its scopes are told one by one.
    ///
    /// An ID token is left out as any member that nobody knows (RFC 6749 §5.1): there are no keys to check it by. LinkedIn's
    /// has no nonce, so LinkedIn cannot be used as an OpenID Connect provider.
    ///
    /// Deviation: Twitch writes `scope` as an array. From another server that is a fault.
    ///
    /// Deviation: LinkedIn leaves `token_type` out. It is a Bearer token.
    ///
    /// Deviation: GitHub separates scopes by commas. A comma may also be part of a scope (RFC 6749 §3.3): so only where none of
    /// the scopes that were asked for has one.
    func read(at authority: Authority, asked: [String]) -> TokenResponse {
        var response = self
        if writesScopesAsArray, authority.environment != "id.twitch.tv", fault == nil {
            response.fault = .wrongType("scope")
        }
        guard !authority.issuesIDTokens else { return response }
        response.idToken = nil
        if fault == nil { response.tokenType = tokenType ?? "Bearer" }
        if !asked.contains(where: { $0.contains(",") }) {
            response.scopes = scopes?.flatMap { $0.split(separator: ",").map(String.init) }
        }
        return response
    }
}

extension TokenGrant {
    /// How long the access token of a sign-in counts as good where the server does not say.
    ///
    /// Deviation: GitHub's tokens for OAuth apps have no end, no `expires_in` and no refresh token. After an hour a person
    /// would have to sign in for a token that is still good, so that it is kept, and the resource's 401 tells when it is not.
    static func unstatedLifetime(of response: TokenResponse, _ authority: Authority) -> Int {
        authority.issuesIDTokens || response.refreshToken != nil ? usualLifetime : JSONObject.maximumDuration
    }
}
