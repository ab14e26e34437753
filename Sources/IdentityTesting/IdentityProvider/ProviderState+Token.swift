// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

// The token endpoint's decisions.
extension ProviderState {
    /// - SeeAlso: [RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3) and
    ///   [§6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    mutating func redeem(_ request: ProviderCall) throws(Refusal) -> TokenIssue {
        let clientID = try clientID(posting: request)
        try checkResource(request)
        let name = request["grant_type"]
        if name == Self.assertionGrant, !settings.assertions.isEmpty {
            return try redeemAssertion(request, clientID: clientID)
        }
        switch name == "device_code" ? .deviceCode : name.flatMap(GrantType.init) {
        case .authorizationCode: return try redeemCode(request, clientID: clientID)
        case .refreshToken: return try refresh(request, clientID: clientID)
        case .deviceCode: return try redeemDeviceCode(request, clientID: clientID)
        case .tokenExchange where settings.exchangesTokens: return try exchange(request, clientID: clientID)
        case .tokenExchange, nil:
            throw Refusal("unsupported_grant_type", "The grant type is not offered.", number: 70_003)
        }
    }

    /// Returns the client that posted a form. No parameter may appear twice, but those that name what a token is for.
    func clientID(posting request: ProviderCall) throws(Refusal) -> String {
        guard request.method == "POST", request.isReadable,
            (request.header("content-type") ?? "").hasPrefix(FormURLEncoded.contentType)
        else { throw Refusal("invalid_request", "The request must be a posted form.", number: 900_144) }
        let names = request.form.map(\.0).filter { $0 != "resource" && $0 != "audience" }
        guard Set(names).count == names.count else {
            throw Refusal("invalid_request", "A parameter occurs twice.", number: 90_014)
        }
        return try clientID(of: request)
    }

    /// Returns the client that sent a request. If the client has a secret, it must be in the form or in HTTP Basic
    /// authentication.
    ///
    /// - SeeAlso: [RFC 6749 §2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)
    func clientID(of request: ProviderCall) throws(Refusal) -> String {
        let basic = request.basicCredentials
        guard basic == nil || request["client_secret"] == nil else {
            throw Refusal("invalid_request", "The client secret is there twice.")
        }
        let named = [basic?.clientID, request["client_id"]].compactMap(\.self)
        guard let clientID = named.first, Set(named).count == 1, let client = clients[clientID] else {
            throw Refusal("invalid_client", "The client is not known.", status: 401, number: 700_016)
        }
        guard client.secret == nil || client.secret?.rawValue == basic?.secret ?? request["client_secret"] else {
            throw Refusal("invalid_client", "The client secret is missing or wrong.", status: 401, number: 7_000_218)
        }
        return clientID
    }

    private mutating func redeemCode(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        let refusal = Refusal("invalid_grant", "The code is not valid.", number: 70_008)
        guard let text = request["code"], let code = codes[text], code.authorization.clientID == clientID else {
            throw refusal
        }
        guard !code.isRedeemed else {
            // RFC 6749 §4.1.2: a code that arrives twice was stolen, so the tokens issued for it are revoked.
            revokedFamilies.insert(code.authorization.family)
            throw Refusal("invalid_grant", "The code was redeemed before.", number: 54_005)
        }
        codes[text]?.isRedeemed = true
        guard code.expires > request.now else { throw refusal }
        guard code.redirectURI == request["redirect_uri"] else {
            throw Refusal(
                "invalid_grant",
                "The redirect URI is not the one of the authorization request.",
                number: 50_011
            )
        }
        guard code.authorization.address.policy == request.address.policy else { throw refusal }
        try checkProof(code.challenge, verifier: request["code_verifier"])
        return try issue(code.authorization, scopes: code.authorization.scopes, request, isRefresh: false)
    }

    /// - SeeAlso: [RFC 7636 §4.4.1](https://www.rfc-editor.org/rfc/rfc7636#section-4.4.1)
    func checkChallenge(_ challenge: String?, _ request: ProviderCall) throws(Refusal) {
        guard let challenge else { return }
        guard request["code_challenge_method"] == "S256", Base64URL.decode(challenge)?.count == 32 else {
            throw Refusal("invalid_request", "The code challenge must be one of method S256.")
        }
    }

    /// - SeeAlso: [RFC 7636 §4.6](https://www.rfc-editor.org/rfc/rfc7636#section-4.6)
    func checkProof(_ challenge: String?, verifier: String?) throws(Refusal) {
        guard let challenge else { return }
        guard let verifier, (43...128).contains(verifier.utf8.count), ProofKey.challenge(for: verifier) == challenge
        else {
            throw Refusal("invalid_grant", "The code verifier does not match the challenge.", number: 501_481)
        }
    }

    func checkKnown(_ scopes: [String]) throws(Refusal) {
        let reserved = ["openid", "profile", "email", "offline_access", "device_sso"]
        guard let known = settings.knownScopes else { return }
        guard scopes.allSatisfy({ known.contains($0) || reserved.contains($0) || clients[$0] != nil }) else {
            throw Refusal("invalid_scope", "A scope is not known.", number: 70_011)
        }
    }
}

extension ProviderState {
    /// Creates the tokens of one answer and remembers them.
    mutating func issue(
        _ authorization: Authorization,
        scopes: [String],
        _ request: ProviderCall,
        isRefresh: Bool
    ) throws(Refusal) -> TokenIssue {
        guard let account = account(authorization.username) else {
            throw Refusal("invalid_grant", "The account was deleted.", number: 50_034, suberror: "user_account_deleted")
        }
        guard request.address.isOwn(of: account.person) else {
            throw Refusal("invalid_grant", "The account is of another cloud.", number: 50_020)
        }
        let reserved: Set = ["openid", "profile", "email", "offline_access", "device_sso"]
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
            issuedAt: request.now,
            settings: settings,
            keyIndex: keyIndex
        )
        if wantsAccessToken {
            let (token, type, keyID) = try accessToken(for: account.person, request)
            (issue.tokenType, issue.keyID) = (type, keyID)
            issue.accessToken = token
            var granted = authorization
            granted.scopes = scopes
            accessTokens[token] = IssuedAccessToken(
                authorization: granted,
                expires: request.now.addingTimeInterval(settings.accessTokenLifetime.timeInterval),
                claims: request["claims"],
                keyID: issue.keyID
            )
        }
        if authorization.scopes.contains("device_sso"), settings.exchangesTokens {
            let known = deviceSecrets.first { $0.value.family == authorization.family }?.key
            let secret = known ?? "ds-" + SecureRandom.token()
            deviceSecrets[secret] = authorization
            issue.deviceSecret = secret
        }
        if settings.issuesRefreshTokens, offline, !isRefresh || settings.rotatesRefreshTokens {
            let token = "rt-" + SecureRandom.token()
            issue.refreshToken = token
            refreshTokens[token] = IssuedRefreshToken(
                authorization: authorization,
                expires: request.now.addingTimeInterval(settings.refreshTokenLifetime.timeInterval)
            )
        }
        return issue
    }

    /// Returns a new access token, its type and its key. A bound one names its key, as Entra ID's do.
    private func accessToken(
        for person: Person,
        _ request: ProviderCall
    ) throws(Refusal) -> (token: String, type: String, keyID: String?) {
        if let key = try certifiedKey(request) {
            return (try certificate(for: key, of: person, at: request.now), "ssh-cert", key.thumbprint)
        }
        let text = "at-" + SecureRandom.token()
        guard let keyID = try boundKeyID(request) else { return (text, "Bearer", nil) }
        let confirmation = JSONObject([("kid", .string(keyID))])
        let claims = JSONObject([("jti", .string(text)), ("cnf", .object(confirmation))])
        guard let token = try? signingKey(keyIndex).token(claims) else { throw Refusal("server_error", "No key.") }
        return (token, "pop", keyID)
    }

    /// Returns the key that the access token is bound to, if the request asks for that and the provider does not ignore it.
    private func boundKeyID(_ request: ProviderCall) throws(Refusal) -> String? {
        guard settings.issuesBoundTokens, request["token_type"] == "pop" else { return nil }
        guard let json = request["req_cnf"].flatMap({ Base64URL.decode($0) }).flatMap({ try? JSONObject(parsing: $0) }),
            let keyID = json.string("kid"), Base64URL.decode(keyID)?.count == 32
        else { throw Refusal("invalid_request", "req_cnf names no key.", number: 9_002_332) }
        return keyID
    }

    /// Returns the key that the request wants an SSH certificate for, if the provider issues them.
    private func certifiedKey(_ request: ProviderCall) throws(Refusal) -> SSHRSAKey? {
        guard settings.issuesBoundTokens, request["token_type"] == "ssh-cert" else { return nil }
        guard let json = request["req_cnf"].flatMap({ try? JSONObject(parsing: Array($0.utf8)) }),
            json.string("kty") == "RSA", json.string("kid") != nil,
            let modulus = json.string("n").flatMap({ Base64URL.decode($0) }),
            let exponent = json.string("e").flatMap({ Base64URL.decode($0) }),
            let key = try? SSHRSAKey(exponent: exponent, modulus: modulus)
        else { throw Refusal("invalid_request", "req_cnf is no RSA key.", number: 9_002_332) }
        return key
    }

    private func certificate(for key: SSHRSAKey, of person: Person, at now: Date) throws(Refusal) -> String {
        let start = UInt64(max(0, now.timeIntervalSince1970))
        var draft = SSHCertificateDraft(
            key: key,
            principals: [person.username],
            validAfter: start > 300 ? start - 300 : 0,
            validBefore: start + UInt64(settings.accessTokenLifetime.components.seconds)
        )
        draft.serialNumber = UInt64(accessTokens.count)
        guard let certificate = try? draft.signed() else {  // signing needs no more than memory
            throw Refusal("server_error", "The certificate could not be signed.", status: 500)
        }
        return certificate
    }

    /// Returns the number of a new family of refresh tokens.
    mutating func newFamily() -> Int {
        familyCount += 1
        return familyCount
    }

    /// Revokes a token; revoking a refresh token revokes its family too.
    ///
    /// - SeeAlso: [RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)
    mutating func revoke(_ request: ProviderCall) throws(Refusal) {
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
