// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A client and its secret.
package struct ClientCredentials: Sendable {
    /// The place of the secret in a request.
    package enum Place: Hashable, Sendable {
        /// In `Authorization`, by HTTP Basic.
        case header
        /// In the form, as `client_secret`.
        case form
    }

    let clientID: String
    let secret: ClientSecret

    /// The form and the `Authorization` field of a request with the secret. The secret is used only for this client's requests: some of a group's tokens belong to other clients.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    func shown(with form: [(String, String)], in place: Place) -> (form: [(String, String)], authorization: String?) {
        guard form.contains(where: { $0 == ("client_id", clientID) }) else { return (form, nil) }
        guard place == .header || secret.rawValue.isEmpty else {
            return (form + [("client_secret", secret.rawValue)], nil)
        }
        // If the client is named in both, Okta sees two credentials. In a pushed authorization request, the client
        // identifier is a parameter (RFC 9126 §2.1).
        let isPushed = form.contains { $0.0 == "response_type" }
        return (isPushed ? form : form.filter { $0.0 != "client_id" }, basic)
    }

    private var basic: String {
        let pair = [clientID, secret.rawValue].map(PercentEncoding.encode).joined(separator: ":")
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }
}
