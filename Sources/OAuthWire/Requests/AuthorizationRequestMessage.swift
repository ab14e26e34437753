// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The parameters of the browser's request to the authorization endpoint.
/// - SeeAlso: [RFC 6749 §4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1),
///   [OpenID Connect Core §3.1.2.1](https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest)
package struct AuthorizationRequestMessage: Sendable {
    package var clientID: String
    package var redirectURI: String
    package var scopes: [String]
    package var state: String
    package var nonce: String?
    package var codeChallenge: String
    package var responseMode: String?
    package var prompt: String?
    package var loginHint: String?
    package var domainHint: String?
    /// The `claims` request, as JSON.
    package var claims: String?
    /// In seconds.
    package var maxAge: Int?
    package var acrValues: [String] = []
    package var uiLocales: [String] = []
    /// `client-request-id`, which appears in Microsoft's logs.
    package var correlationID: String?
    /// Whether to request `client_info`, in which Microsoft names the home account.
    package var clientInfo = false
    /// `instance_aware`: whether Microsoft may name the cloud of the person's account.
    package var isInstanceAware = false
    /// The program's additional parameters; reserved names are not sent.
    package var extra: [(String, String)] = []

    /// Creates a request with the parameters that every request has.
    package init(clientID: String, redirectURI: String, scopes: [String], state: String, codeChallenge: String) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.state = state
        self.codeChallenge = codeChallenge
    }

    /// The parameters with a value, in a fixed order.
    package var items: [(String, String)] {
        let own = ParameterList.items([
            ("client_id", clientID),
            ("response_type", "code"),
            ("redirect_uri", redirectURI),
            ("scope", scopes.joined(separator: " ")),
            ("state", state),
            ("nonce", nonce),
            ("code_challenge", codeChallenge),
            ("code_challenge_method", "S256"),
            ("response_mode", responseMode),
            ("prompt", prompt),
            ("login_hint", loginHint),
            ("domain_hint", domainHint),
            ("claims", claims),
            ("max_age", maxAge.map(String.init)),
            ("acr_values", acrValues.joined(separator: " ")),
            ("ui_locales", uiLocales.joined(separator: " ")),
            ("client-request-id", correlationID),
            ("client_info", clientInfo ? "1" : nil),
            ("instance_aware", isInstanceAware ? "true" : nil),
        ])
        return own + extra.filter { !Self.reservedNames.contains($0.0) }
    }

    /// The names that a program may not use: the parameters above, and names that could replace or leak them.
    package static let reservedNames: Set<String> = [
        "client_id", "response_type", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "response_mode", "prompt", "login_hint", "domain_hint", "claims", "max_age",
        "acr_values", "ui_locales", "client-request-id", "client_info", "instance_aware", "request", "request_uri",
        "code",
        "code_verifier", "client_secret", "grant_type", "refresh_token", "device_code", "username", "password",
        "assertion", "assertion_type", "client_assertion", "client_assertion_type",
    ]
}

/// Parameters of a message, with or without a value.
enum ParameterList {
    /// The parameters that have a value, in order.
    static func items(_ parameters: [(String, String?)]) -> [(String, String)] {
        parameters.compactMap { name, value in
            guard let value, !value.isEmpty else { return nil }
            return (name, value)
        }
    }
}
