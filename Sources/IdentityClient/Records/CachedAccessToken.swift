// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// An access token as a record stores it. It never changes, so that passing it on costs next to nothing.
package final class CachedAccessToken: Sendable {
    package let secret: String
    /// The tenant that issued the token, or its substitute.
    package let realm: String
    /// The tenant as the request's authority spelled it, if that differs: a domain name, for example.
    package let authorityTenant: String?
    /// The granted scopes, in the server's spelling.
    package let scopes: [String]
    /// The requested scopes. This token answers the same request again, even if fewer scopes were granted.
    package let requestedScopes: [String]
    /// `Bearer`, `PoP` or `ssh-cert`; any other type as the server spelled it.
    package let tokenType: String
    /// The key that the token is bound to; `nil` for a bearer token.
    package let keyID: String?
    /// Tells tokens apart that were requested with other parameters of the program's; 0 for none.
    package let parameterTag: UInt64
    /// The time of storage in Unix seconds, like all times here.
    package let cachedAt: Int64
    package let expiresOn: Int64
    package let refreshOn: Int64?
    /// When the token is renewed because of `refreshOn`.
    private let renewsOn: Int64?
    /// The end of the time in which the token may be used while the server cannot issue another one; `nil` if that is
    /// not after `expiresOn`.
    package let extendedExpiresOn: Int64?
    /// The further members of the answer that the token came with, as JSON; `nil` without any.
    package let additionalMembers: String?
    /// Members that another version or library wrote.
    package let unknown: JSONObject

    /// `scopes` and `requestedScopes`, in the form in which they are compared.
    package let granted: Set<String>
    package let requested: Set<String>
    /// `scopes` as a program sees them.
    package let scopeSet: Set<Scope>
    /// Whether all requested scopes were granted.
    package let declinesNothing: Bool

    package init(
        secret: String,
        realm: String,
        authorityTenant: String? = nil,
        scopes: [String],
        requestedScopes: [String],
        tokenType: String,
        keyID: String? = nil,
        parameterTag: UInt64 = 0,
        cachedAt: Int64,
        expiresOn: Int64,
        refreshOn: Int64? = nil,
        extendedExpiresOn: Int64? = nil,
        additionalMembers: String? = nil,
        unknown: JSONObject = JSONObject(),
        rule: ScopeRule
    ) {
        self.secret = secret
        self.realm = realm
        self.authorityTenant = authorityTenant
        self.scopes = scopes
        self.requestedScopes = requestedScopes
        self.tokenType =
            switch tokenType.lowercased() {
            case "bearer": "Bearer"
            case "pop": "PoP"
            case "dpop": "DPoP"
            case AuthenticationScheme.sshCertificateType: AuthenticationScheme.sshCertificateType
            default: tokenType
            }
        self.keyID = keyID
        self.parameterTag = parameterTag
        self.cachedAt = cachedAt
        self.expiresOn = expiresOn
        self.refreshOn = refreshOn
        renewsOn = refreshOn.map { RenewalSchedule.renewal(of: secret, from: $0, expiresOn: expiresOn) }
        self.extendedExpiresOn = extendedExpiresOn.flatMap { $0 > expiresOn ? $0 : nil }
        self.additionalMembers = additionalMembers
        self.unknown = unknown
        scopeSet = Set(scopes.map(Scope.init(rawValue:)))
        granted = rule.matchable(scopes)
        requested = rule.matchable(requestedScopes)
        declinesNothing = requested.isSubset(of: granted)
    }

    /// Returns whether the token is valid for `leeway` more seconds, or for a tenth of its lifetime if that is less,
    /// and for more than `minimumValidity` seconds.
    ///
    /// A token is always used for the first tenth of its lifetime, so that it is not renewed with each call.
    ///
    /// A token from the future (the clock was set back) counts as expired. So does a token that is valid for more than
    /// ten years, because a longer lifetime in an answer is read as ten years.
    package func isUsable(at now: Int64, leeway: Int64, minimumValidity: Int64 = 0) -> Bool {
        let lifetime = expiresOn - cachedAt
        let validity = Swift.min(minimumValidity, lifetime - Swift.max(1, lifetime / 10))
        return cachedAt <= now + 300 && lifetime > 0 && lifetime <= Int64(JSONObject.maximumDuration)
            && expiresOn - now > Swift.max(validity, Swift.min(leeway, lifetime / 10))
    }

    /// The names that tell bound tokens apart in a section. There is one PoP token of several keys, and one certificate of each key.
    package var bindingNames: [String] {
        guard let keyID else { return [] }
        return isCertificate ? [tokenType, keyID] : [tokenType]
    }

    /// Whether the token is an SSH certificate.
    var isCertificate: Bool { tokenType == AuthenticationScheme.sshCertificateType }

    /// Returns whether the token is still valid, so that it can be returned if no better token is available.
    package func isAlive(at now: Int64) -> Bool {
        isUsable(at: now, leeway: 0)
    }

    /// Returns whether the token's time is over. Of a token from the future, whose clock was set back, that is not known.
    package func hasExpired(at now: Int64) -> Bool {
        cachedAt <= now + 300 && expiresOn <= now
    }

    /// Returns whether the token has expired, and may still be used while the server cannot issue another one.
    package func isInExtendedLifetime(at now: Int64) -> Bool {
        guard let extendedExpiresOn, cachedAt <= now + 300 else { return false }
        return (expiresOn..<extendedExpiresOn).contains(now)
    }

    /// Returns whether the server wants the token renewed although it is still valid, and its turn has come.
    package func isDueForRefresh(at now: Int64) -> Bool {
        renewsOn.map { $0 <= now } ?? false
    }
}

extension CachedAccessToken: Hashable {
    package static func == (first: CachedAccessToken, second: CachedAccessToken) -> Bool {
        first === second
            || (first.secret == second.secret && first.realm == second.realm
                && first.authorityTenant == second.authorityTenant && first.scopes == second.scopes
                && first.requestedScopes == second.requestedScopes && first.tokenType == second.tokenType
                && first.keyID == second.keyID && first.parameterTag == second.parameterTag
                && first.cachedAt == second.cachedAt && first.expiresOn == second.expiresOn
                && first.refreshOn == second.refreshOn && first.extendedExpiresOn == second.extendedExpiresOn
                && first.additionalMembers == second.additionalMembers && first.unknown == second.unknown)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(secret)
    }
}
