// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The form bodies sent to the token endpoint; parameters without a value are omitted.
package enum TokenRequestMessage {
    /// Redeems an authorization code.
    /// - Parameter redirectURI: Byte for byte the authorization request's value.
    /// - SeeAlso: [RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3)
    package static func authorizationCode(
        clientID: String,
        code: String,
        redirectURI: String,
        codeVerifier: String,
        scopes: [String] = [],
        claims: String? = nil,
        clientInfo: Bool = false
    ) -> [(String, String)] {
        let own: [(String, String?)] = [
            ("code", code), ("redirect_uri", redirectURI), ("code_verifier", codeVerifier),
        ]
        return items(clientID, .authorizationCode, own, scopes, claims, clientInfo)
    }

    /// Renews tokens.
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    package static func refreshToken(
        clientID: String,
        refreshToken: String,
        scopes: [String] = [],
        claims: String? = nil,
        clientInfo: Bool = false
    ) -> [(String, String)] {
        items(clientID, .refreshToken, [("refresh_token", refreshToken)], scopes, claims, clientInfo)
    }

    /// Asks whether the person has finished on the other device.
    /// - Parameter codeVerifier: Given if the request for the code had its challenge.
    /// - SeeAlso: [RFC 8628 §3.4](https://www.rfc-editor.org/rfc/rfc8628#section-3.4)
    package static func deviceCode(
        clientID: String,
        deviceCode: String,
        codeVerifier: String? = nil,
        scopes: [String] = [],
        claims: String? = nil,
        clientInfo: Bool = false
    ) -> [(String, String)] {
        let own = [("device_code", deviceCode), ("code_verifier", codeVerifier)]
        return items(clientID, .deviceCode, own, scopes, claims, clientInfo)
    }

    /// Redeems a grant of the program's choice.
    /// - SeeAlso: [RFC 6749 §4.5](https://www.rfc-editor.org/rfc/rfc6749#section-4.5)
    package static func extensionGrant(
        clientID: String,
        grantType: String,
        parameters: [(String, String)],
        scopes: [String] = [],
        claims: String? = nil,
        clientInfo: Bool = false
    ) -> [(String, String)] {
        let common: [(String, String?)] = [
            ("client_id", clientID), ("grant_type", grantType), ("scope", scopes.joined(separator: " ")),
            ("claims", claims), ("client_info", clientInfo ? "1" : nil),
        ]
        return ParameterList.items(common) + parameters
    }

    /// Exchanges a token for another one.
    /// - SeeAlso: [RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)
    package static func tokenExchange(
        clientID: String,
        subject: (token: String, type: String),
        actor: (token: String, type: String)? = nil,
        requestedType: String? = nil,
        resources: [String] = [],
        audiences: [String] = [],
        scopes: [String] = []
    ) -> [(String, String)] {
        let targets: [(String, String?)] = resources.map { ("resource", $0) } + audiences.map { ("audience", $0) }
        let tokens: [(String, String?)] = [
            ("requested_token_type", requestedType), ("subject_token", subject.token),
            ("subject_token_type", subject.type), ("actor_token", actor?.token), ("actor_token_type", actor?.type),
        ]
        return items(clientID, .tokenExchange, targets + tokens, scopes, nil, false)
    }

    /// The names that a program may not use in a request of any grant: those above, and those that could replace them or
    /// are secrets.
    package static let reservedNames = reservedInAnyGrant.union([
        "actor_token", "actor_token_type", "assertion", "code", "code_verifier", "device_code", "redirect_uri",
        "refresh_token", "subject_token", "subject_token_type", "username",
    ])

    /// Those of them that a grant of the program's choice may not have either.
    package static let reservedInAnyGrant: Set<String> = [
        "claims", "client_assertion", "client_assertion_type", "client_id", "client_info", "client_secret",
        "grant_type", "key_id", "password", "req_cnf", "scope", "token_type",
    ]

    /// The parameters that bind the access token to a key.
    package static func proofOfPossession(keyID: String) -> [(String, String)] {
        let confirmation = JSONObject([("kid", .string(keyID))])
        return [("token_type", "pop"), ("req_cnf", Base64URL.encode(confirmation.serialized()))]
    }

    /// The parameters that ask for an SSH certificate. Other than above, the key is plain JSON.
    package static func sshCertificate(for key: SSHRSAKey) -> [(String, String)] {
        [("token_type", "ssh-cert"), ("req_cnf", String(decoding: key.webKey.serialized(), as: UTF8.self))]
    }

    private static func items(
        _ clientID: String,
        _ grantType: GrantType,
        _ own: [(String, String?)],
        _ scopes: [String],
        _ claims: String?,
        _ clientInfo: Bool
    ) -> [(String, String)] {
        ParameterList.items(
            [("client_id", clientID), ("grant_type", grantType.rawValue)] + own + [
                ("scope", scopes.joined(separator: " ")), ("claims", claims), ("client_info", clientInfo ? "1" : nil),
            ]
        )
    }
}

/// The kind of credential that a request redeems, as a value of `grant_type`.
package enum GrantType: String, CaseIterable, Sendable {
    case authorizationCode = "authorization_code"
    case refreshToken = "refresh_token"
    case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}

/// The form body that starts a sign-in on another device.
/// - SeeAlso: [RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)
package enum DeviceAuthorizationRequestMessage {
    /// The parameters, with the program's `extra` ones last; reserved names are not sent.
    /// - Parameter codeChallenge: Of method S256.
    package static func items(
        clientID: String,
        scopes: [String],
        codeChallenge: String? = nil,
        claims: String? = nil,
        extra: [(String, String)] = []
    ) -> [(String, String)] {
        ParameterList.items([
            ("client_id", clientID),
            ("scope", scopes.joined(separator: " ")),
            ("code_challenge", codeChallenge),
            ("code_challenge_method", codeChallenge.map { _ in "S256" }),
            ("claims", claims),
        ]) + extra.filter { !AuthorizationRequestMessage.reservedNames.contains($0.0) }
    }
}

/// The form body that asks about an access token.
/// - SeeAlso: [RFC 7662 §2.1](https://www.rfc-editor.org/rfc/rfc7662#section-2.1)
package enum IntrospectionRequestMessage {
    /// The parameters.
    package static func items(clientID: String, token: String) -> [(String, String)] {
        [("client_id", clientID), ("token", token), ("token_type_hint", "access_token")]
    }
}

/// The form body that revokes a refresh token.
/// - SeeAlso: [RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)
package enum RevocationRequestMessage {
    /// The parameters.
    package static func items(clientID: String, token: String) -> [(String, String)] {
        [("client_id", clientID), ("token", token), ("token_type_hint", "refresh_token")]
    }
}
