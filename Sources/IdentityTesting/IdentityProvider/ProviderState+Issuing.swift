// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension ProviderState {
    /// Creates the tokens of one answer and remembers them.
    mutating func issue(
        _ authorization: Authorization,
        scopes: [String],
        _ request: ProviderRequest,
        isRefresh: Bool,
        now: Date
    ) throws(Refusal) -> TokenIssue {
        guard let account = account(authorization.username) else {
            throw Refusal("invalid_grant", "The account was deleted.", number: 50_034, suberror: "user_account_deleted")
        }
        let reserved: Set = ["openid", "profile", "email", "offline_access"]
        // B2C gives no access token if no resource was requested.
        let wantsAccessToken = !profile.isB2C || !Set(scopes).isSubset(of: reserved)
        let offline = !settings.requiresOfflineAccess || authorization.scopes.contains("offline_access")
        var issue = TokenIssue(
            authorization: authorization,
            person: account.person,
            scopes: scopes,
            wantsIDToken: scopes.contains("openid") && (!isRefresh || settings.issuesIDTokenOnRefresh),
            wantsClientInfo: request["client_info"] == "1" && (profile.isEntra || profile.isB2C),
            nonce: isRefresh ? nil : authorization.nonce,
            issuedAt: now,
            settings: settings,
            keyIndex: keyIndex
        )
        if wantsAccessToken {
            let token = "at-" + SecureRandom.token()
            issue.accessToken = token
            var granted = authorization
            granted.scopes = scopes
            accessTokens[token] = IssuedAccessToken(
                authorization: granted,
                expires: now.addingTimeInterval(settings.accessTokenLifetime.timeInterval),
                claims: request["claims"]
            )
        }
        if settings.issuesRefreshTokens, offline, !isRefresh || settings.rotatesRefreshTokens {
            let token = "rt-" + SecureRandom.token()
            issue.refreshToken = token
            refreshTokens[token] = IssuedRefreshToken(
                authorization: authorization,
                expires: now.addingTimeInterval(settings.refreshTokenLifetime.timeInterval)
            )
        }
        return issue
    }

    /// Returns the number of a new family of refresh tokens.
    mutating func newFamily() -> Int {
        familyCount += 1
        return familyCount
    }

    /// Revokes a token; revoking a refresh token revokes its family too.
    ///
    /// - SeeAlso: [RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)
    mutating func revoke(_ request: ProviderRequest) throws(Refusal) {
        guard request.method == "POST", let token = request["token"] else {
            throw Refusal("invalid_request", "The token is missing.")
        }
        let clientID = try clientID(of: request)
        if let known = refreshTokens[token], known.authorization.clientID == clientID {
            revokedFamilies.insert(known.authorization.family)
            let family = known.authorization.family
            accessTokens = accessTokens.filter { $0.value.authorization.family != family }
        } else if accessTokens[token]?.authorization.clientID == clientID {
            accessTokens[token] = nil
        }
    }
}
