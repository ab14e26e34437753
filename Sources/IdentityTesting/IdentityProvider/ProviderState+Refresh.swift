// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The life of a refresh token.
extension ProviderState {
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6),
    ///   [RFC 9700 §4.14.2](https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2) on reuse
    mutating func refresh(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        guard let text = request["refresh_token"], let token = refreshTokens[text],
            token.authorization.clientID == clientID, !revokedFamilies.contains(token.authorization.family),
            request.address.policy == token.authorization.address.policy
        else {
            throw Refusal("invalid_grant", "The refresh token is not valid.", number: 9_002_313, suberror: "bad_token")
        }
        guard token.expires > request.now else {
            throw Refusal("invalid_grant", "The refresh token has expired.", number: 700_082, suberror: "token_expired")
        }
        try checkAccount(of: token.authorization)
        var authorization = token.authorization
        authorization.address = request.address
        let scopes = try refreshedScopes(request, authorization)

        if let replacedAt = token.replacedAt {
            let grace = settings.reuseGracePeriod.timeInterval
            guard let successor = token.successor, grace > 0, request.now.timeIntervalSince(replacedAt) <= grace else {
                revokedFamilies.insert(authorization.family)
                throw Refusal("invalid_grant", "The refresh token was used before.", suberror: "bad_token")
            }
            var again = try issue(authorization, scopes: scopes, request, isRefresh: true)
            again.refreshToken.map { refreshTokens[$0] = nil }
            again.refreshToken = successor
            return again
        }
        let issue = try issue(authorization, scopes: scopes, request, isRefresh: true)
        if settings.rotatesRefreshTokens {
            refreshTokens[text]?.replacedAt = request.now
            refreshTokens[text]?.successor = issue.refreshToken
        }
        return issue
    }

    private func checkAccount(of authorization: Authorization) throws(Refusal) {
        guard let account = account(authorization.username) else {
            throw Refusal("invalid_grant", "The account was deleted.", number: 50_034, suberror: "user_account_deleted")
        }
        guard account.revocations == authorization.revocations else {
            throw Refusal("invalid_grant", "The sign-in was revoked.", number: 50_173, suberror: "bad_token")
        }
        if account.passwordIsExpired {
            throw Refusal(
                "invalid_grant",
                "The password has expired.",
                number: 50_055,
                suberror: "user_password_expired"
            )
        }
        if account.needsSecondFactor {
            throw Refusal(
                profile.isEntra ? "invalid_grant" : "interaction_required",
                "A second factor is required.",
                number: 50_076,
                suberror: "basic_action",
                claims: #"{"access_token":{"polids":{"essential":true,"values":["second-factor"]}}}"#
            )
        }
    }

    private func refreshedScopes(_ request: ProviderCall, _ authorization: Authorization) throws(Refusal) -> [String] {
        let asked = (request["scope"] ?? "").split(separator: " ").map(String.init)
        guard !asked.isEmpty else { return authorization.scopes }
        try checkKnown(asked)
        if asked.contains(where: settings.adminConsentScopes.contains) {
            throw Refusal(
                "invalid_grant",
                "An administrator must consent.",
                number: 90_094,
                suberror: "consent_required"
            )
        }
        let missing = asked.filter { scope in
            settings.consentScopes.contains(scope)
                && !consents.contains(
                    Consent(clientID: authorization.clientID, username: authorization.username, scope: scope)
                )
        }
        if profile.isMicrosoft {
            // Microsoft's refresh tokens are valid for every scope that the person consented to.
            guard missing.isEmpty else {
                throw Refusal("invalid_grant", "The person must consent.", number: 65_001, suberror: "consent_required")
            }
        } else if !Set(asked).isSubset(of: authorization.scopes) {
            throw Refusal("invalid_scope", "More was asked for than had been granted.")
        }
        return asked.filter { !settings.declinedScopes.contains($0) }
    }
}
