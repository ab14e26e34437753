// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

// The documents that the provider publishes about itself, and the form of its refusals.
extension ProviderState {
    func configuration(at address: ProviderAddress) -> JSONObject {
        var document = JSONObject([("issuer", .string(issuer(of: address)))])
        let endpoints: [(String, TestIdentityProvider.Endpoint)] = [
            ("authorization_endpoint", .authorization), ("token_endpoint", .token), ("jwks_uri", .keys),
            ("device_authorization_endpoint", .deviceAuthorization), ("revocation_endpoint", .revocation),
            ("end_session_endpoint", .endSession), ("userinfo_endpoint", .userInfo),
        ]
        for (name, endpoint) in endpoints {
            if let url = address.url(of: endpoint) { document[name] = .string(url) }
        }
        if settings.introspection != .unavailable, let url = address.url(of: .introspection) {
            document["introspection_endpoint"] = .string(url)
        }
        if settings.dpop != nil { document["dpop_signing_alg_values_supported"] = .strings(["ES256"]) }
        if settings.registersClients, let url = address.url(of: .registration) {
            document["registration_endpoint"] = .string(url)
        }
        document["response_types_supported"] = .strings(["code"])
        document["response_modes_supported"] = .strings(settings.responseModes)
        document["grant_types_supported"] = .strings(
            GrantType.allCases.filter { $0 != .tokenExchange || settings.exchangesTokens }.map(\.rawValue)
        )
        document["subject_types_supported"] = .strings([profile.isMicrosoft ? "pairwise" : "public"])
        document["id_token_signing_alg_values_supported"] = .strings(["RS256"])
        document["token_endpoint_auth_methods_supported"] = .strings([
            "client_secret_basic", "client_secret_post", "none",
        ])
        let scopes = settings.knownScopes.map { Array($0).sorted() } ?? []
        document["scopes_supported"] = .strings(["openid", "profile", "email", "offline_access"] + scopes)
        if settings.advertisesS256 { document["code_challenge_methods_supported"] = .strings(["S256"]) }
        if settings.pushedAuthorizationRequests != .unavailable,
            let url = address.url(of: .pushedAuthorization)
        {
            document["pushed_authorization_request_endpoint"] = .string(url)
            document["require_pushed_authorization_requests"] = .bool(settings.pushedAuthorizationRequests == .required)
        }
        if settings.namesIssuerInResponse { document["authorization_response_iss_parameter_supported"] = .bool(true) }
        return document
    }

    func keySet() throws -> JSONObject {
        let keys = try publishedKeys.map { JSONValue.object(try signingKey($0).publicJSON) }
        return JSONObject([("keys", .array(keys))])
    }

    /// - SeeAlso: [OpenID Connect Core §5.3.2](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)
    func signedUserInfo(
        _ answer: JSONObject,
        for authorization: Authorization,
        _ person: Person,
        _ tampering: IDTokenTampering?
    ) throws -> String {
        var claims = answer
        claims["iss"] = .string(tokenIssuer(of: authorization.address, for: person))
        claims["aud"] = .string(authorization.clientID)
        let key = try signingKey(keyIndex)
        return try tampering?.token(claims, key: key) ?? key.token(claims)
    }

    /// Returns the process's key number `index`, under its name at this provider.
    func signingKey(_ index: Int) throws -> SigningKey {
        let key = try SigningKey.number(index)
        return inheritedKeyIDs[index].map(key.named) ?? key
    }

    /// Returns Entra's list of clouds, or a refusal if the host is unknown.
    func instances(_ request: ProviderCall, origin: String) -> ProviderResponse {
        let asked = request["authorization_endpoint"].flatMap(WebAddress.init)
        guard let asked, CloudInstances.isKnown(asked.host) || asked.origin == origin else {
            let refusal = Refusal("invalid_instance", "The authority host is not known.", number: 50_049)
            return response(to: refusal, now: Date(timeIntervalSince1970: 0))
        }
        let known = CloudInstances.hosts.map { hosts in
            JSONValue.object(
                JSONObject([
                    ("preferred_network", .string(hosts[0])), ("preferred_cache", .string(hosts[0])),
                    ("aliases", .strings(hosts)),
                ])
            )
        }
        let tenant = asked.segments.first ?? "common"
        return .json(
            JSONObject([
                (
                    "tenant_discovery_endpoint",
                    .string("\(asked.origin)/\(tenant)/v2.0/.well-known/openid-configuration")
                ),
                ("api-version", .string("1.1")), ("metadata", .array(known)),
            ])
        )
    }

    /// Returns a refusal in the form that this kind of provider uses.
    ///
    /// - SeeAlso: [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)
    func response(to refusal: Refusal, correlationID: String? = nil, now: Date) -> ProviderResponse {
        announcingNonce(plainResponse(to: refusal, correlationID, now: now))
    }

    /// Adds the nonce for the next proof.
    func announcingNonce(_ response: ProviderResponse) -> ProviderResponse {
        guard let dpop = settings.dpop, dpop.announcesNonce, let nonce = dpop.nonce else { return response }
        var response = response
        response.headers.append(("DPoP-Nonce", nonce))
        return response
    }

    private func plainResponse(to refusal: Refusal, _ correlationID: String?, now: Date) -> ProviderResponse {
        var body = JSONObject([("error", .string(refusal.error))])
        body["error_description"] = .string(words(of: refusal))
        if profile.isEntra {
            if let number = refusal.number { body["error_codes"] = .array([.integer(number)]) }
            body["timestamp"] = .string(now.formatted(.iso8601))
            body["trace_id"] = .string(UUID().uuidString.lowercased())
            body["correlation_id"] = .string(correlationID ?? UUID().uuidString.lowercased())
        }
        if profile.isMicrosoft, let suberror = refusal.suberror { body["suberror"] = .string(suberror) }
        if profile.isMicrosoft, let claims = refusal.claims { body["claims"] = .string(claims) }
        return .json(body, status: refusal.status)
    }
}
