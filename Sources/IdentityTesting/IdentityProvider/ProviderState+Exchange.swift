// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The exchange of a token for another one.
extension ProviderState {
    private static let (accessTokenType, idTokenType, jwtType, deviceSecretType) = (
        "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:id_token",
        "urn:ietf:params:oauth:token-type:jwt", "urn:openid:params:token-type:device-secret"
    )

    /// - SeeAlso: [RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)
    mutating func exchange(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        if request["actor_token_type"] == Self.deviceSecretType { return try shareSignIn(request, clientID: clientID) }
        guard let subject = try holder("subject", request) else {
            throw Refusal("invalid_request", "The subject token is missing.")
        }
        _ = try holder("actor", request)
        let targets = request.form.filter { ["resource", "audience"].contains($0.0) }
        for (name, value) in targets {
            let isKnown = settings.exchangeTargets?.contains(value) ?? true
            guard isKnown, name == "audience" || value.contains(":") && !value.contains("#") else {
                throw Refusal("invalid_target", "No token is issued for this service.")
            }
        }
        let type = request["requested_token_type"] ?? Self.accessTokenType
        guard [Self.accessTokenType, Self.idTokenType].contains(type) else {
            throw Refusal("invalid_request", "Tokens of this type are not issued.")
        }
        let asked = (request["scope"] ?? "").split(separator: " ").map(String.init)
        try checkKnown(asked)
        guard let account = account(subject.username) else {
            throw Refusal("invalid_request", "The account was deleted.")
        }
        var authorization = subject
        authorization.clientID = clientID
        authorization.scopes = asked.isEmpty ? subject.scopes : asked
        var issue = TokenIssue(
            authorization: authorization,
            person: account.person,
            scopes: authorization.scopes,
            wantsIDToken: type == Self.idTokenType,
            wantsClientInfo: false,
            issuedAt: request.now,
            settings: settings,
            keyIndex: keyIndex
        )
        issue.exchange = (type, targets.first?.1 ?? clientID)
        if !issue.wantsIDToken {
            let token = "at-" + SecureRandom.token()
            issue.accessToken = token
            accessTokens[token] = IssuedAccessToken(
                authorization: authorization,
                expires: request.now.addingTimeInterval(settings.accessTokenLifetime.timeInterval)
            )
        }
        return issue
    }

    /// Signs a person in to another program of the publisher. The ID token may have expired.
    ///
    /// - SeeAlso: [Native SSO §4](https://openid.net/specs/openid-connect-native-sso-1_0.html)
    private mutating func shareSignIn(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        guard let secret = request["actor_token"], let origin = deviceSecrets[secret],
            !revokedFamilies.contains(origin.family), let account = account(origin.username),
            account.revocations == origin.revocations, request["subject_token_type"] == Self.idTokenType,
            let claims = request["subject_token"].flatMap({ ownClaims(of: $0) }),
            claims.string("ds_hash") == TokenResponseBuilder.halfHash(secret),
            claims.string("sub") == account.person.subject
        else { throw Refusal("invalid_grant", "The device secret, or the ID token, is not accepted.") }
        guard request["audience"] == issuer(of: request.address) else {
            throw Refusal("invalid_target", "The audience is not the issuer.")
        }
        let scopes = (request["scope"] ?? "openid").split(separator: " ").map(String.init)
        try checkKnown(scopes)
        var authorization = origin
        (authorization.clientID, authorization.scopes) = (clientID, scopes)
        (authorization.nonce, authorization.family) = (nil, newFamily())
        var issue = try issue(authorization, scopes: scopes, request, isRefresh: false)
        issue.exchange = (Self.accessTokenType, clientID)
        return issue
    }

    /// Returns the permission behind a presented token; `nil` if there is none.
    ///
    /// - SeeAlso: [RFC 8693 §2.2.2](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.2): a token that is not accepted is
    ///   an invalid request.
    private mutating func holder(_ role: String, _ request: ProviderCall) throws(Refusal) -> Authorization? {
        let refusal = Refusal("invalid_request", "The \(role) token, or its type, is not accepted.")
        let (token, type) = (request[role + "_token"], request[role + "_token_type"])
        if token == nil, type == nil { return nil }
        guard let token, let type else { throw refusal }
        if type == Self.accessTokenType {
            guard let issued = accessTokens[token], issued.expires > request.now,
                !revokedFamilies.contains(issued.authorization.family),
                account(issued.authorization.username)?.revocations == issued.authorization.revocations
            else { throw refusal }
            return issued.authorization
        }
        guard type == Self.idTokenType || type == Self.jwtType, let claims = ownClaims(of: token),
            let account = accounts.first(where: { $0.person.subject == claims.string("sub") && !$0.isDeleted }),
            let clientID = claims.string("aud"), clients[clientID] != nil,
            claims.string("iss") == tokenIssuer(of: request.address, for: account.person),
            Double(claims.integer("exp") ?? 0) > request.now.timeIntervalSince1970
        else { throw refusal }
        return Authorization(
            clientID: clientID,
            username: account.person.username,
            scopes: ["openid"],
            authenticatedAt: request.now,
            address: request.address,
            family: newFamily(),
            revocations: account.revocations
        )
    }

    /// Returns the claims of a token that this provider has signed.
    private func ownClaims(of text: String) -> JSONObject? {
        guard let token = try? JSONWebToken(compact: text), let keys = try? JSONWebKeySet(keySet()),
            (try? keys.verify(token)) != nil
        else { return nil }
        return token.claims
    }
}
