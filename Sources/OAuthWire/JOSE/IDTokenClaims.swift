// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// An ID token's claims, with checked types; issuer, audience and times are not checked here.
/// - SeeAlso: [OpenID Connect Core §2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)
package struct IDTokenClaims: Sendable {
    /// All claims, also unknown ones.
    package let raw: JSONObject
    package let issuer: String
    package let subject: String
    /// `aud`, a string or an array on the wire; never empty.
    package let audience: [String]
    /// `exp` in Unix seconds, rounded down, within the years 1 to 9999; the other instants too.
    package let expiration: Int64
    package let issuedAt: Int64?
    package let notBefore: Int64?
    package let authTime: Int64?
    package let nonce: String?
    package let azp: String?
    package let atHash: String?
    /// Microsoft: the person in the tenant.
    package let oid: String?
    /// Microsoft: the tenant.
    package let tid: String?
    package let preferredUsername: String?
    package let upn: String?
    package let email: String?
    package let name: String?

    /// Reads the claims.
    /// - Throws: `WireError` if `iss`, `sub`, `aud` or `exp` is missing, or if a security-relevant claim has a wrong type: an instant is a number, never a text (RFC 7519 §2). Claims for display with a wrong type count as absent. So do Microsoft's own claims, because another provider may use their names differently; a caller that needs them must check them.
    package init(_ claims: JSONObject) throws {
        raw = claims
        issuer = try claims.requiredString("iss")
        if case .number? = claims["sub"] { throw WireError.malformed("sub: it is a number in place of a text") }
        subject = try claims.requiredString("sub")
        audience = try Self.audience(claims)
        guard let expiration = try Self.instant("exp", claims) else { throw WireError.missing("exp") }
        self.expiration = expiration
        issuedAt = try Self.instant("iat", claims)
        notBefore = try Self.instant("nbf", claims)
        // Deviation: AD FS of Windows Server 2016 writes a date as text. It counts as absent, and decides only with `max_age`.
        let isDate = claims.string("auth_time") != nil && issuer.hasSuffix("/adfs")
        authTime = isDate ? nil : try Self.instant("auth_time", claims)
        nonce = try claims.optionalString("nonce")
        azp = try claims.optionalString("azp")
        atHash = try claims.optionalString("at_hash")
        oid = Self.text("oid", claims)
        tid = Self.text("tid", claims)
        preferredUsername = Self.text("preferred_username", claims)
        upn = Self.text("upn", claims)
        email = Self.text("email", claims)
        name = Self.text("name", claims)
    }

    /// The name that the person knows, for display: the first that is there of the name to sign in with, and the email
    /// addresses.
    ///
    /// Deviation: Azure AD B2C writes the addresses as the array `emails`.
    package var username: String? {
        preferredUsername ?? upn ?? raw.strings("emails")?.first { !$0.isEmpty } ?? email
    }

    /// Whether `at_hash` is the left half of the access token's hash; `true` if the token has no `at_hash`.
    ///
    /// Deviation: authentik, whose issuers are `https://…/application/o/…/`, takes SHA-256 whatever the algorithm.
    /// - Parameter algorithm: The one the ID token is signed with; it decides the hash.
    /// - SeeAlso: [OpenID Connect Core §3.1.3.6](https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken) and
    ///   [§3.1.3.8](https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowTokenValidation)
    package func atHashMatches(accessToken: String, algorithm: SignatureAlgorithm) -> Bool {
        guard let atHash else { return true }
        let bytes = Array(accessToken.utf8)
        let digest =
            switch algorithm {
            case _ where issuer.contains("/application/o/"), .rs256, .ps256, .es256: Array(SHA256.hash(data: bytes))
            case .rs384, .ps384, .es384: Array(SHA384.hash(data: bytes))
            case .rs512, .ps512, .es512, .edDSA: Array(SHA512.hash(data: bytes))
            }
        return constantTimeEquals(atHash, Base64URL.encode(Array(digest.prefix(digest.count / 2))))
    }

    /// Whether `acr` is one of `values`.
    package func hasACR(in values: [String]) -> Bool {
        raw.string("acr").map { acr in values.contains { WireText.areSame($0, acr) } } ?? false
    }

    private static func text(_ name: String, _ claims: JSONObject) -> String? {
        claims.string(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func audience(_ claims: JSONObject) throws -> [String] {
        switch claims["aud"] {
        case nil, .null, .array([]): throw WireError.missing("aud")
        case .string(let text): return [text]
        default:
            guard let values = claims.strings("aud") else { throw WireError.wrongType("aud") }
            return values
        }
    }

    private static func instant(_ name: String, _ claims: JSONObject) throws -> Int64? {
        guard let value = claims[name], !value.isNull else { return nil }
        guard case .number(let text) = value, let seconds = Double(text) else { throw WireError.wrongType(name) }
        // An instant outside the years 1 to 9999 counts as their beginning or end, so that adding a tolerance cannot
        // overflow.
        return Int64(min(max(seconds.rounded(.down), -62_135_596_800), Double(UnixSeconds.last)))
    }
}
