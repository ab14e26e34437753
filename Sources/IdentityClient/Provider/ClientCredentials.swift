// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A client and its secret.
package struct ClientCredentials: Sendable {
    /// Where in a request the secret stands.
    package enum Place: Hashable, Sendable {
        /// In `Authorization`, by HTTP Basic.
        case header
        /// In the form, as `client_secret`.
        case form
    }

    let clientID: String
    let secret: ClientSecret

    /// The form, and what stands in `Authorization`, of a request that shows the secret. It is shown where the request is this
    /// client's: of a group's tokens some are other clients'.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    func shown(with form: [(String, String)], in place: Place) -> (form: [(String, String)], authorization: String?) {
        guard form.contains(where: { $0 == ("client_id", clientID) }) else { return (form, nil) }
        guard place == .header else { return (form + [("client_secret", secret.rawValue)], nil) }
        // Okta takes a client that is named in both for one that shows two secrets. Of an authorization request that is
        // pushed, the client is a part (RFC 9126 §2.1).
        let isPushed = form.contains { $0.0 == "response_type" }
        return (isPushed ? form : form.filter { $0.0 != "client_id" }, basic)
    }

    private var basic: String {
        let pair = [clientID, secret.rawValue].map(PercentEncoding.encode).joined(separator: ":")
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }
}
