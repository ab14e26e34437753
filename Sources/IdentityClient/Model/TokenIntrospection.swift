// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
package import OAuthWire

/// A provider's answer about an access token: whether it is good now, and what for.
///
/// ```swift
/// let told = try await app.introspectToken(of: account, scopes: ["api.read"])
/// if !told.isActive { result = try await app.acquireTokenSilently(renewing) }
/// ```
///
/// A member that the provider left out is `nil`. An inactive token has none.
/// - SeeAlso: [RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)
public struct TokenIntrospection: Hashable, Sendable {
    /// Whether the provider issued the token, and it has neither expired nor been revoked.
    public let isActive: Bool
    /// The granted scopes (`scope`).
    public let scopes: Set<Scope>?
    /// The client that the token was issued to (`client_id`).
    public let clientID: ClientID?
    /// A name of the person for display (`username`).
    public let username: String?
    /// How the token is used (`token_type`), in the provider's spelling.
    public let tokenType: String?
    /// The time at which the token expires (`exp`).
    public let expiresOn: Date?
    /// The time at which the token was issued (`iat`).
    public let issuedOn: Date?
    /// The time before which the token is not good (`nbf`).
    public let notBefore: Date?
    /// The person at this provider (`sub`).
    public let subject: String?
    /// The services that the token is for (`aud`).
    public let audiences: [String]?
    /// The issuer of the token (`iss`).
    public let issuer: String?
    /// The identifier of the token (`jti`).
    public let tokenID: String?
    /// The whole answer, as the JSON text of an object.
    public let json: String

    /// - Throws: `WireError` for an answer without `active`, or with a member of a wrong type.
    package init(_ object: JSONObject) throws {
        guard let isActive = object.bool("active") else {
            throw object["active"] == nil ? WireError.missing("active") : WireError.wrongType("active")
        }
        self.isActive = isActive
        json = String(decoding: object.serialized(), as: UTF8.self)
        let members = isActive ? object : JSONObject()
        scopes = try members.optionalString("scope").map { Set(WireText.words($0).map(Scope.init(rawValue:))) }
        clientID = try members.optionalString("client_id").map(ClientID.init(rawValue:))
        username = try members.optionalString("username")
        tokenType = try members.optionalString("token_type")
        expiresOn = try members.optionalTime("exp")
        issuedOn = try members.optionalTime("iat")
        notBefore = try members.optionalTime("nbf")
        subject = try members.optionalString("sub")
        audiences = try members["aud"]?.string.map { [$0] } ?? members.optionalStrings("aud")
        issuer = try members.optionalString("iss")
        tokenID = try members.optionalString("jti")
    }
}

extension TokenIntrospection: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether the token is active, without personal data.
    public var description: String { "TokenIntrospection(isActive: \(isActive))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no personal data.
    public var customMirror: Mirror { Mirror(self, children: ["isActive": isActive]) }
}

extension JSONObject {
    /// The time in a member, in Unix seconds; `nil` if it is absent.
    fileprivate func optionalTime(_ name: String) throws -> Date? {
        guard let value = self[name], !value.isNull else { return nil }
        guard case .number = value, let seconds = value.roundedDown, UnixSeconds.all.contains(seconds) else {
            throw WireError.wrongType(name)
        }
        return Date(timeIntervalSince1970: Double(seconds))
    }
}
