// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension ProviderState {
    static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Redeems an assertion of another system about a person.
    ///
    /// - SeeAlso: [RFC 7523 §2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)
    mutating func redeemAssertion(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        guard let username = request["assertion"].flatMap({ settings.assertions[$0] }), let account = account(username)
        else { throw Refusal("invalid_grant", "The assertion is not accepted.", number: 50_013) }
        let scopes = (request["scope"] ?? "").split(separator: " ").map(String.init)
        try checkKnown(scopes)
        let authorization = Authorization(
            clientID: clientID,
            username: account.person.username,
            scopes: scopes.filter { !settings.declinedScopes.contains($0) },
            authenticatedAt: request.now,
            address: request.address,
            family: newFamily(),
            revocations: account.revocations
        )
        return try issue(authorization, scopes: authorization.scopes, request, isRefresh: false)
    }
}
