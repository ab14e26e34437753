// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// Deviations of individual servers, most of them plain OAuth 2.0.
extension TokenResponse {
    /// Returns the response as it counts at `authority`. Plain OAuth 2.0 has no ID tokens, and each server writes
    /// scopes in its own way.
    ///
    /// An ID token is ignored like any unknown member (RFC 6749 §5.1), because there are no keys to verify it with.
    /// LinkedIn's ID token has no nonce, so LinkedIn cannot be used as an OpenID Connect provider.
    ///
    /// Deviation: Twitch writes `scope` as an array. From any other server, an array is an error.
    ///
    /// Deviation: LinkedIn leaves `token_type` out. Its access token counts as a Bearer token.
    ///
    /// Deviation: GitHub separates scopes by commas. A scope may itself contain a comma (RFC 6749 §3.3), so commas
    /// separate only if no requested scope contains one.
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
    /// The lifetime of a sign-in's access token if the server states none, in seconds.
    ///
    /// Deviation: GitHub's tokens for OAuth apps never expire, and come without `expires_in` and without a refresh
    /// token. With a lifetime of an hour, the person would have to sign in again while the token is still good. So the
    /// token is kept until the resource answers 401.
    static func unstatedLifetime(of response: TokenResponse, _ authority: Authority) -> Int {
        authority.issuesIDTokens || response.refreshToken != nil ? usualLifetime : JSONObject.maximumDuration
    }
}
