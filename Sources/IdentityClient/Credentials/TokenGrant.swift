// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// A token response that was checked, and what it means for the account: ready to be applied.
package struct TokenGrant: Hashable, Sendable {
    package var response: TokenResponse
    package var requestedScopes: [String]
    /// The scopes that a refresh without scopes yields if the server does not name them (RFC 6749 §6).
    package var impliedScopes: [String]?
    package var identity: AccountIdentity
    /// The profile; `nil` if the answer had no ID token, or no ID token that could be verified.
    package var profile: CachedProfile?
    /// The realm of the access token.
    package var realm: String
    package var authorityTenant: String?
    package var rule: ScopeRule
    /// The key that the access token is bound to; `nil` for a bearer token.
    package var binding: TokenBinding?
    /// The end of an SSH certificate, in Unix seconds; `nil` for other tokens, which say nothing to a client.
    package var certificateEnd: Int64?
    /// Tells tokens apart that were requested with other parameters of the program's; 0 for none.
    package var parameterTag: UInt64 = 0
    /// The assumed lifetime of the access token in seconds, if the server does not say.
    package var unstatedLifetime = Self.usualLifetime

    /// The usual lifetime in seconds. RFC 6749 §5.1 only recommends `expires_in`: without it, an hour is assumed, as in
    /// every MSAL.
    package static var usualLifetime: Int { 3600 }

    /// The granted scopes. A server that does not name them granted the requested scopes (RFC 6749 §5.1).
    package var grantedScopes: [String] { response.scopes ?? impliedScopes ?? requestedScopes }

    /// The further members of the answer, as JSON; `nil` without any.
    var additionalMembers: String? {
        guard !response.additionalMembers.isEmpty else { return nil }
        return String(decoding: response.additionalMembers.serialized(), as: UTF8.self)
    }

    /// The requested scopes that were not granted, without the scopes that steer the sign-in.
    package var declinedScopes: [String] {
        let granted = rule.matchable(grantedScopes)
        return requestedScopes.filter { !rule.matchable([$0]).isSubset(of: granted) }
    }
}

/// The identity of the account that the tokens belong to. It is never empty, and never an email address or a display
/// name.
package struct AccountIdentity: Hashable, Sendable {
    package var accountID: Account.ID
    package var homeAccountID: String
    package var homeTenant: String?
}

extension AccountIdentity {
    /// Derives the identity from an answer.
    ///
    /// - Returns: `nil` if the answer identifies no person.
    package init?(authority: Authority, clientInfo: ClientInfo?, issuer: String?, subject: String?) {
        // A dot or bar in `uid` would let two people share `uid.utid`, or look like an issuer and a subject.
        if authority.hasHomeAccounts, let uid = clientInfo?.uid.lowercased(), !uid.isEmpty,
            !uid.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "|") })
        {
            let utid = clientInfo.map { $0.utid.lowercased() }.flatMap { $0.isEmpty ? nil : $0 } ?? uid
            homeAccountID = "\(uid).\(utid)"
            homeTenant = utid
            accountID = Account.ID(rawValue: "\(authority.objectID(fromUID: uid)).\(utid)")
        } else if let subject, !subject.isEmpty {
            accountID = Account.ID(rawValue: "\(issuer ?? authority.url)|\(subject)")
            homeAccountID = accountID.rawValue
        } else {
            return nil
        }
    }

    /// Creates an identity for a person about whom nothing is known, at a plain OAuth 2.0 server.
    package init(anonymousAt authority: Authority, nonce: String) {
        accountID = Account.ID(rawValue: "\(authority.url)|local-\(nonce)")
        homeAccountID = accountID.rawValue
    }
}
