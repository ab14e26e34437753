// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension TestIdentityProvider {
    /// The clients that may ask about their tokens (RFC 7662).
    ///
    /// ```swift
    /// provider.settings.introspection = .clientsWithSecret
    /// ```
    @nonexhaustive public enum IntrospectionCallers: Hashable, Sendable {
        /// The provider has no endpoint for it.
        case unavailable
        /// Only a client that has a secret, and gives it.
        case clientsWithSecret
        /// Any client.
        case anyClient
    }
}

extension ProviderState {
    /// Tells about an access token of the client that asks. Of any other token it says no more than that it is not active.
    ///
    /// - SeeAlso: [RFC 7662 §2](https://www.rfc-editor.org/rfc/rfc7662#section-2)
    func introspect(_ request: ProviderCall) throws(Refusal) -> JSONObject {
        let clientID = try clientID(posting: request)
        guard settings.introspection == .anyClient || clients[clientID]?.secret != nil else {
            throw Refusal("invalid_client", "Only clients with a secret may ask.", status: 401)
        }
        guard let issued = request["token"].flatMap({ accessTokens[$0] }), issued.expires > request.now,
            issued.authorization.clientID == clientID, let account = account(issued.authorization.username),
            account.revocations == issued.authorization.revocations,
            !revokedFamilies.contains(issued.authorization.family)
        else { return JSONObject([("active", .bool(false))]) }
        return JSONObject([
            ("active", .bool(true)), ("scope", .string(issued.authorization.scopes.joined(separator: " "))),
            ("client_id", .string(clientID)), ("username", .string(account.person.username)),
            ("token_type", .string(issued.keyID == nil ? "Bearer" : "pop")),
            ("exp", .integer(Int64(issued.expires.timeIntervalSince1970))),
            ("sub", .string(account.person.subject)),
            ("iss", .string(tokenIssuer(of: request.address, for: account.person))),
        ])
    }
}
