// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What the token endpoint gives.
/// - SeeAlso: [RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)
package struct TokenResponse: Sendable {
    /// The access token: visible ASCII, fit for a header. `nil` only when the answer has an ID token alone.
    package var accessToken: String?
    /// As the server wrote it; compare without regard to case. `nil` when the server did not say.
    package var tokenType: String?
    /// In seconds; `nil` when the server did not say. At most ten years, as the other durations.
    package var expiresIn: Int?
    /// In how many seconds a new token had better be fetched.
    package var refreshIn: Int?
    /// The granted scopes; `nil` when the server did not say, which means the requested ones.
    package var scopes: [String]?
    package var refreshToken: String?
    package var idToken: String?
    /// As received, and absent when it is no text; see ``ClientInfo``.
    package var clientInfo: String?
    /// `foci`: the family of Microsoft programs that share the refresh token.
    package var familyID: String?
    /// Why the answer cannot be used, though the server granted something.
    package var fault: WireError?

    /// Reads the answer as far as can be. With a ``fault`` only what says whose it is, and the refresh token, are there:
    /// the server has spent the one that was sent.
    package init(reading json: JSONObject) {
        do throws(WireError) {
            try self.init(json)
        } catch {
            self.init(fault: error)
            refreshToken = json.string("refresh_token").flatMap { $0.isEmpty ? nil : $0 }
            idToken = json.string("id_token")
            clientInfo = json.string("client_info")
        }
    }

    private init(fault: WireError) {
        self.fault = fault
    }

    /// Reads the answer.
    /// - Throws: `WireError`: no access token (unless there is an ID token), a wrong type, a negative duration, or an access
    ///   token with characters that cannot stand in a header.
    package init(_ json: JSONObject) throws(WireError) {
        accessToken = try json.optionalString("access_token")
        idToken = try json.optionalString("id_token")
        guard accessToken != nil || idToken != nil else { throw WireError.missing("access_token") }
        if let accessToken, !WireText.isVisibleASCII(accessToken) { throw WireError.malformed("access_token") }
        tokenType = try json.optionalString("token_type")
        // Deviation: beside it, Zoho's `expires_in` is in milliseconds.
        expiresIn = try json.optionalDuration(json["expires_in_sec"] == nil ? "expires_in" : "expires_in_sec")
        refreshIn = try json.optionalDuration("refresh_in")
        scopes = try Self.scopes(json)
        refreshToken = try json.optionalString("refresh_token")
        clientInfo = json.string("client_info")
        familyID = json.string("foci") ?? json.integer("foci").map(String.init)
    }

    /// Deviation: some servers write `scope` as an array.
    private static func scopes(_ json: JSONObject) throws(WireError) -> [String]? {
        let words =
            if let list = json.strings("scope") { list } else { try json.optionalString("scope").map(WireText.words) }
        return words?.isEmpty == true ? nil : words
    }
}
