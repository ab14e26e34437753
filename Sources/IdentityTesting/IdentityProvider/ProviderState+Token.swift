// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The token endpoint's decisions.
extension ProviderState {
    /// - SeeAlso: [RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3) and
    ///   [§6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    mutating func redeem(_ request: ProviderRequest, at address: ProviderAddress, now: Date) throws(Refusal)
        -> TokenIssue
    {
        guard request.method == "POST", request.isReadable,
            (request.header("content-type") ?? "").hasPrefix(FormURLEncoded.contentType)
        else { throw Refusal("invalid_request", "The request must be a posted form.", number: 900_144) }
        guard Set(request.form.map(\.0)).count == request.form.count else {
            throw Refusal("invalid_request", "A parameter occurs twice.", number: 90_014)
        }
        guard let clientID = request["client_id"], clients[clientID] != nil else {
            throw Refusal("invalid_client", "The client is not known.", status: 401, number: 700_016)
        }
        switch request["grant_type"] {
        case GrantType.authorizationCode:
            return try redeemCode(request, clientID: clientID, at: address, now: now)
        case GrantType.refreshToken:
            return try refresh(request, clientID: clientID, at: address, now: now)
        case GrantType.deviceCode, "device_code":
            return try redeemDeviceCode(request, clientID: clientID, now: now)
        default:
            throw Refusal("unsupported_grant_type", "The grant type is not offered.", number: 70_003)
        }
    }

    private mutating func redeemCode(
        _ request: ProviderRequest,
        clientID: String,
        at address: ProviderAddress,
        now: Date
    ) throws(Refusal) -> TokenIssue {
        let refusal = Refusal("invalid_grant", "The code is not valid.", number: 70_008)
        guard let text = request["code"], let code = codes[text], code.authorization.clientID == clientID else {
            throw refusal
        }
        guard !code.isRedeemed else {
            // RFC 6749 §4.1.2: a code that comes twice was stolen; what came of it is revoked.
            revokedFamilies.insert(code.authorization.family)
            throw Refusal("invalid_grant", "The code was redeemed before.", number: 54_005)
        }
        codes[text]?.isRedeemed = true
        guard code.expires > now else { throw refusal }
        guard code.redirectURI == request["redirect_uri"] else {
            throw Refusal(
                "invalid_grant",
                "The redirect URI is not the one of the authorization request.",
                number: 50_011
            )
        }
        guard code.authorization.address.policy == address.policy else { throw refusal }
        try checkProof(code.challenge, verifier: request["code_verifier"])
        return try issue(code.authorization, scopes: code.authorization.scopes, request, isRefresh: false, now: now)
    }

    /// - SeeAlso: [RFC 7636 §4.6](https://www.rfc-editor.org/rfc/rfc7636#section-4.6)
    private func checkProof(_ challenge: String?, verifier: String?) throws(Refusal) {
        guard let challenge else { return }
        guard let verifier, (43...128).contains(verifier.utf8.count), ProofKey.challenge(for: verifier) == challenge
        else {
            throw Refusal("invalid_grant", "The code verifier does not match the challenge.", number: 501_481)
        }
    }

    private mutating func refresh(
        _ request: ProviderRequest,
        clientID: String,
        at address: ProviderAddress,
        now: Date
    ) throws(Refusal) -> TokenIssue {
        guard let text = request["refresh_token"], let token = refreshTokens[text],
            token.authorization.clientID == clientID, !revokedFamilies.contains(token.authorization.family),
            address.policy == token.authorization.address.policy
        else {
            throw Refusal("invalid_grant", "The refresh token is not valid.", number: 9_002_313, suberror: "bad_token")
        }
        guard token.expires > now else {
            throw Refusal("invalid_grant", "The refresh token has expired.", number: 700_082, suberror: "token_expired")
        }
        try checkAccount(of: token.authorization)
        var authorization = token.authorization
        authorization.address = address
        let scopes = try refreshedScopes(request, authorization)

        if let replacedAt = token.replacedAt {
            let grace = settings.reuseGracePeriod.timeInterval
            guard let successor = token.successor, grace > 0, now.timeIntervalSince(replacedAt) <= grace else {
                revokedFamilies.insert(authorization.family)
                throw Refusal("invalid_grant", "The refresh token was used before.", suberror: "bad_token")
            }
            var again = try issue(authorization, scopes: scopes, request, isRefresh: true, now: now)
            again.refreshToken.map { refreshTokens[$0] = nil }
            again.refreshToken = successor
            return again
        }
        let issue = try issue(authorization, scopes: scopes, request, isRefresh: true, now: now)
        if settings.rotatesRefreshTokens {
            refreshTokens[text]?.replacedAt = now
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

    private func refreshedScopes(
        _ request: ProviderRequest,
        _ authorization: Authorization
    ) throws(Refusal) -> [String] {
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
            // Microsoft's refresh tokens are good for whatever the person agreed to.
            guard missing.isEmpty else {
                throw Refusal("invalid_grant", "The person must consent.", number: 65_001, suberror: "consent_required")
            }
        } else if !Set(asked).isSubset(of: authorization.scopes) {
            throw Refusal("invalid_scope", "More was asked for than had been granted.")
        }
        return asked.filter { !settings.declinedScopes.contains($0) }
    }

    func checkKnown(_ scopes: [String]) throws(Refusal) {
        let reserved = ["openid", "profile", "email", "offline_access"]
        guard let known = settings.knownScopes else { return }
        guard scopes.allSatisfy({ known.contains($0) || reserved.contains($0) || clients[$0] != nil }) else {
            throw Refusal("invalid_scope", "A scope is not known.", number: 70_011)
        }
    }
}
