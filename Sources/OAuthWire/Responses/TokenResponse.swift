// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A successful answer of the token endpoint.
/// - SeeAlso: [RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)
package struct TokenResponse: Hashable, Sendable {
    /// The access token: visible ASCII, safe for a header. `nil` only if the answer has only an ID token.
    package var accessToken: String?
    /// As the server wrote it; compare without case. `nil` if the server did not send it.
    package var tokenType: String?
    /// In seconds; `nil` if the server did not send it. At most ten years, like the other durations.
    package var expiresIn: Int?
    /// The seconds after which the server recommends a new token.
    package var refreshIn: Int?
    /// `ext_expires_in`: the seconds for which the token may be used while the server cannot issue another one.
    package var extendedExpiresIn: Int?
    /// The seconds until the refresh token, or the authorization, ends; `nil` if the server did not say it.
    package var refreshTokenExpiresIn: Int?
    /// The granted scopes; `nil` if the server did not send them, which means the requested scopes.
    package var scopes: [String]?
    package var refreshToken: String?
    package var idToken: String?
    /// As received, and absent if not a text; see ``ClientInfo``.
    package var clientInfo: String?
    /// `foci`: the family of Microsoft programs that share the refresh token.
    package var familyID: String?
    /// `issued_token_type`: the kind of the token in ``accessToken``, in an answer to an exchange (RFC 8693 §2.2.1).
    package var issuedTokenType: String?
    /// `device_secret`: the secret with which other programs of the publisher sign in (Native SSO). `nil` if it is no visible
    /// ASCII of at most 8 KiB.
    package var deviceSecret: String?
    /// The members that this type does not have otherwise, at most 8 KiB of them.
    package var additionalMembers = JSONObject()
    /// The reason why the answer cannot be used, although the server granted tokens.
    package var fault: WireError?

    /// Reads the answer as far as possible. With a ``fault``, it has only the person's identity and the refresh token,
    /// because the server has spent the old refresh token.
    package init(reading json: JSONObject) {
        do throws(WireError) {
            try self.init(json)
        } catch {
            self.init(
                fault: error,
                refreshToken: Self.secret(json),
                idToken: json.string("id_token"),
                clientInfo: json.string("client_info")
            )
        }
    }

    package init(fault: WireError, refreshToken: String?, idToken: String?, clientInfo: String?) {
        self.fault = fault
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.clientInfo = clientInfo
    }

    /// Reads the answer.
    /// - Throws: `WireError`: no access token (unless there is an ID token), a wrong type, a negative duration, or an access
    ///   token with characters that cannot stand in a header.
    package init(_ json: JSONObject) throws(WireError) {
        accessToken = try json.optionalString("access_token")
        idToken = try json.optionalString("id_token")
        guard accessToken != nil || idToken != nil else { throw WireError.missing("access_token") }
        if let accessToken, !accessToken.utf8.areVisible { throw WireError.malformed("access_token") }
        tokenType = try json.optionalString("token_type")
        expiresIn = try Self.lifetime(json)
        refreshIn = Self.hint("refresh_in", json)
        extendedExpiresIn = Self.hint("ext_expires_in", json)
        refreshTokenExpiresIn = Self.signInLifetimes.compactMap { Self.hint($0, json) }.min()
        scopes = try Self.scopes(json)
        refreshToken = try json.optionalString("refresh_token")
        guard refreshToken == nil || Self.secret(json) != nil else { throw WireError.malformed("refresh_token") }
        clientInfo = json.string("client_info")
        familyID = json.string("foci") ?? json.integer("foci").map(String.init)
        issuedTokenType = json.string("issued_token_type")
        deviceSecret = json.string("device_secret").flatMap { secret in
            (1...8192).contains(secret.utf8.count) && secret.utf8.areVisible ? secret : nil
        }
        additionalMembers = Self.additionalMembers(json)
    }

    /// The refresh token; `nil` if it is empty, or if it was repaired and is not what the server wrote.
    static func secret(_ json: JSONObject) -> String? {
        json.string("refresh_token").flatMap { $0.isEmpty || $0.unicodeScalars.contains("\u{FFFD}") ? nil : $0 }
    }

    private static let ownMembers: Set<String> = [
        "access_token", "client_info", "device_secret", "expires_in", "expires_in_sec", "ext_expires_in", "foci",
        "id_token", "issued_token_type", "refresh_in", "refresh_token", "scope", "token_type",
    ]

    /// A member that does not fit any more is left out; smaller ones after it are kept.
    private static func additionalMembers(_ json: JSONObject) -> JSONObject {
        var (kept, left) = (JSONObject(), 8192)
        for (name, value) in json.members where !ownMembers.contains(name) && value != .null {
            let size = JSONObject([(name, value)]).serialized().count
            guard size <= left else { continue }
            left -= size
            kept[name] = value
        }
        return kept
    }

    /// Deviation: Zoho's older servers write milliseconds in `expires_in`, and the same in seconds in `expires_in_sec`.
    private static func lifetime(_ json: JSONObject) throws(WireError) -> Int? {
        if let seconds = json.integer("expires_in_sec"), let milliseconds = json.integer("expires_in"),
            seconds > 0, milliseconds / 1000 == seconds
        {
            return try json.optionalDuration("expires_in_sec")
        }
        return try json.optionalDuration("expires_in")
    }

    /// The draft's members for an unused refresh token and for the authorization, and those in use at GitHub, Google and
    /// Microsoft, and at Keycloak. The first to end counts.
    /// - SeeAlso: draft-ietf-oauth-refresh-token-expiration
    private static let signInLifetimes = [
        "refresh_token_timeout", "authorization_expires_in", "refresh_token_expires_in", "refresh_expires_in",
    ]

    /// A hint for an early renewal or for outages: a wrong one does not cost the tokens.
    private static func hint(_ name: String, _ json: JSONObject) -> Int? {
        (try? json.optionalDuration(name)).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Deviation: Twitch and others write an array of texts, which can mean nothing else.
    private static func scopes(_ json: JSONObject) throws(WireError) -> [String]? {
        let text =
            if let list = json.strings("scope") { list.joined(separator: " ") } else {
                try json.optionalString("scope")
            }
        let words = text.map(WireText.words)
        return words?.isEmpty == true ? nil : words
    }
}
