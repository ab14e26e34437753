// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The parameters of the browser's request to the end-session endpoint.
/// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
package enum EndSessionRequestMessage {
    /// The parameters with a value, in a fixed order.
    ///
    /// - Parameters:
    ///   - idTokenHint: The original ID token, which identifies the session.
    ///   - postLogoutRedirectURI: The address for the browser's return, with `state`.
    ///   - correlationID: `client-request-id`, which appears in Microsoft's logs.
    ///   - extra: The program's additional parameters; reserved names are not sent.
    package static func items(
        clientID: String,
        idTokenHint: String?,
        logoutHint: String?,
        postLogoutRedirectURI: String?,
        state: String?,
        uiLocales: [String],
        correlationID: String?,
        extra: [(String, String)]
    ) -> [(String, String)] {
        ParameterList.items([
            ("client_id", clientID),
            ("id_token_hint", idTokenHint),
            ("logout_hint", logoutHint),
            ("post_logout_redirect_uri", postLogoutRedirectURI),
            ("state", state),
            ("ui_locales", uiLocales.joined(separator: " ")),
            ("client-request-id", correlationID),
        ]) + extra.filter { !reservedNames.contains($0.0) }
    }

    /// The names that a program may not use.
    package static let reservedNames: Set<String> = [
        "client_id", "id_token_hint", "logout_hint", "post_logout_redirect_uri", "state", "ui_locales",
        "client-request-id", "client_secret",
    ]
}
