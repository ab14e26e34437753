// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The parameters of the browser's request to the end-session endpoint.
/// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
package struct EndSessionRequestMessage: Sendable {
    package var clientID: String
    /// The original ID token, which identifies the session.
    package var idTokenHint: String?
    package var logoutHint: String?
    /// The address for the browser's return, with `state`.
    package var postLogoutRedirectURI: String?
    package var state: String?
    package var uiLocales: [String]
    /// `client-request-id`, which appears in Microsoft's logs.
    package var correlationID: String?
    /// The program's additional parameters; reserved names are not sent.
    package var extra: [(String, String)]

    package init(
        clientID: String,
        idTokenHint: String? = nil,
        logoutHint: String? = nil,
        postLogoutRedirectURI: String? = nil,
        state: String? = nil,
        uiLocales: [String] = [],
        correlationID: String? = nil,
        extra: [(String, String)] = []
    ) {
        self.clientID = clientID
        self.idTokenHint = idTokenHint
        self.logoutHint = logoutHint
        self.postLogoutRedirectURI = postLogoutRedirectURI
        self.state = state
        self.uiLocales = uiLocales
        self.correlationID = correlationID
        self.extra = extra
    }

    /// The parameters with a value, in a fixed order.
    package var items: [(String, String)] {
        ParameterList.items([
            ("client_id", clientID),
            ("id_token_hint", idTokenHint),
            ("logout_hint", logoutHint),
            ("post_logout_redirect_uri", postLogoutRedirectURI),
            ("state", state),
            ("ui_locales", uiLocales.joined(separator: " ")),
            ("client-request-id", correlationID),
        ]) + extra.filter { !Self.reservedNames.contains($0.0) }
    }

    /// The names that a program may not use.
    package static let reservedNames: Set<String> = [
        "client_id", "id_token_hint", "logout_hint", "post_logout_redirect_uri", "state", "ui_locales",
        "client-request-id", "client_secret",
    ]
}
