// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
package import OAuthWire

/// Claims about a person, from an ID token or the provider's UserInfo endpoint. They are personal data.
///
/// A claim that is absent, or of another type than the property expects, is `nil`: the provider chooses what it sends.
///
/// ```swift
/// let claims = try await app.userInfo(for: account)
/// if let email = claims.email, claims.isEmailVerified == true { offerInvitations(for: email) }
/// ```
/// - SeeAlso: [OpenID Connect Core §5.1](https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims)
public struct IdentityClaims: Hashable, Sendable {
    /// All claims, as the JSON text of an object; aggregated and distributed claims (`_claim_sources`) are in it as the
    /// provider sent them.
    public let json: String

    private let object: JSONObject

    /// Reads claims, such as an API's record of a person; `nil` if `json` is not the text of a JSON object.
    ///
    /// No signature and no time is checked: the library did that when the claims arrived.
    public init?(json: String) {
        guard let object = try? JSONObject(parsing: Array(json.utf8)) else { return nil }  // no caller needs the reason
        self.init(object)
    }

    package init(_ object: JSONObject) {
        self.object = object
        json = String(decoding: object.serialized(), as: UTF8.self)
    }

    /// The person at this provider (`sub`). Compare its bytes; only with the issuer does it identify the person.
    public var subject: String? { object.string("sub") }

    /// The display name (`name`).
    public var name: String? { object.string("name") }

    /// The name to sign in with (`preferred_username`), for display. It may pass to another person.
    public var preferredUsername: String? { object.string("preferred_username") }

    /// The email address (`email`), as the person or an administrator entered it. See ``isEmailVerified``.
    public var email: String? { object.string("email") }

    /// Whether the provider made sure that the person controls the address (`email_verified`); `nil` if the provider does
    /// not say, which Entra ID never does. Then do not trust the address.
    ///
    /// Deviation: Amazon Cognito and Apple write a text, `"true"`.
    public var isEmailVerified: Bool? {
        switch object["email_verified"] {
        case .bool(let flag): flag
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }
}

// How the person authenticated, and what the organization allows.
extension IdentityClaims {
    /// The authentication context (`acr`), in the provider's words.
    public var acr: String? { object.string("acr") }

    /// The methods of authentication (`amr`), such as `pwd`, `otp` and `mfa` (RFC 8176).
    public var amr: [String]? { object.strings("amr") }

    /// The time at which the person last authenticated (`auth_time`).
    public var authTime: Date? {
        guard case .number? = object["auth_time"] else { return nil }
        return object.roundedDown("auth_time").map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// The person's roles in the program (`roles`), as at Entra ID. Providers differ in the claim's name and form: read
    /// others by the subscript.
    public var roles: [String]? { object.strings("roles") }

    /// The person's groups (`groups`). Entra ID leaves them out if there are too many, and names a source of them in
    /// `_claim_names`: `nil` does not mean that there are none.
    public var groups: [String]? { object.strings("groups") }

    /// The value of any claim, as the type that the caller wants; `nil` if it is absent, or of another type. A `Date` is read from
    /// a number of seconds.
    ///
    /// ```swift
    /// let level: Int? = claims["level"]
    /// let address: Address? = claims["address"]    // a type of the program's that is Decodable
    /// ```
    public subscript<Value: Decodable>(claim: String) -> Value? {
        guard let value = object[claim] else { return nil }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return try? decoder.decode(Value.self, from: Data(value.jsonText.utf8))  // of another type
    }
}

extension TenantProfile {
    /// The claims of the ID token, read anew with each call; `nil` without an ID token. Comparisons of profiles ignore them.
    ///
    /// ```swift
    /// let isAdministrator = result.tenantProfile?.claims?.roles?.contains("Admin") == true
    /// ```
    public var claims: IdentityClaims? { idTokenClaims.flatMap(IdentityClaims.init(json:)) }
}

extension Account {
    /// Returns the account with the display name and the username of `claims`, for display. A name that the claims lack
    /// stays as it is.
    ///
    /// For providers that name the person at the UserInfo endpoint only. Nothing is stored: merge again after a silent
    /// acquisition, which returns the account as the ID token describes it.
    ///
    /// ```swift
    /// let account = account.merging(try await app.userInfo(for: account))
    /// ```
    public func merging(_ claims: IdentityClaims) -> Account {
        var profiles = tenantProfiles
        if let first = profiles.first, let name = claims.name {
            profiles[0] = TenantProfile(
                tenantID: first.tenantID,
                localAccountID: first.localAccountID,
                isHomeTenant: first.isHomeTenant,
                name: name,
                policy: first.policy,
                idTokenClaims: first.idTokenClaims
            )
        }
        return Account(
            id: id,
            environment: environment,
            username: claims.preferredUsername ?? username ?? claims.email,
            homeAccountID: homeAccountID,
            tenantProfiles: profiles
        )
    }
}
