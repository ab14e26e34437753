// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// A token response that was checked, and what it means for the account: ready to be applied.
package struct TokenGrant: Sendable {
    package var response: TokenResponse
    package var requestedScopes: [String]
    /// What a refresh that named no scopes yields where the server does not say (RFC 6749 §6).
    package var impliedScopes: [String]?
    package var identity: AccountIdentity
    /// `nil` where the answer had no ID token, or none that could be verified.
    package var profile: CachedProfile?
    /// The realm of the access token.
    package var realm: String
    package var authorityTenant: String?
    package var rule: ScopeRule
    /// Seconds that the access token counts as good where the server does not say.
    package var unstatedLifetime = Self.usualLifetime

    /// RFC 6749 §5.1 only recommends `expires_in`: without it an hour is assumed, as every MSAL does.
    package static var usualLifetime: Int { 3600 }

    /// What was granted; a server that says nothing granted what was asked for (RFC 6749 §5.1).
    package var grantedScopes: [String] { response.scopes ?? impliedScopes ?? requestedScopes }

    /// What was asked for and not granted, but for the scopes that steer the sign-in.
    package var declinedScopes: [String] {
        let granted = rule.matchable(grantedScopes)
        return requestedScopes.filter { !rule.matchable([$0]).isSubset(of: granted) }
    }
}

/// Who the tokens are about.
///
/// - SeeAlso: R-27: never empty, never an e-mail address or a display name.
package struct AccountIdentity: Hashable, Sendable {
    package var accountID: Account.ID
    package var homeAccountID: String
    package var homeTenant: String?
}

extension AccountIdentity {
    /// Tells the person from the answer.
    ///
    /// - Returns: `nil` where the answer names nobody.
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

    /// A person of whom nothing is known: plain OAuth 2.0.
    package init(anonymousAt authority: Authority, nonce: String) {
        accountID = Account.ID(rawValue: "\(authority.url)|local-\(nonce)")
        homeAccountID = accountID.rawValue
    }
}
