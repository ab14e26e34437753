// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What the browser is sent to the end-session endpoint with.
/// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
package struct EndSessionRequestMessage: Sendable {
    package var clientID: String
    /// The ID token as it came; it says whose session.
    package var idTokenHint: String?
    package var logoutHint: String?
    /// Where to go afterwards; `state` comes back with it.
    package var postLogoutRedirectURI: String?
    package var state: String?
    package var uiLocales: [String]
    /// `client-request-id`, which Microsoft's logs carry.
    package var correlationID: String?
    /// Further parameters of the program; a reserved name among them is not sent.
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

    /// The parameters in a fixed order; those without a value are left out.
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

    /// The names a program may not give itself.
    package static let reservedNames: Set<String> = [
        "client_id", "id_token_hint", "logout_hint", "post_logout_redirect_uri", "state", "ui_locales",
        "client-request-id", "client_secret",
    ]
}
