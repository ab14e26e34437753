// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// What differs between the kinds of providers, and follows from the kind alone.
extension Authority {
    package var issuesIDTokens: Bool {
        if case .oauth2 = kind { false } else { true }
    }

    /// Whether `client_info` tells who the person is.
    var hasHomeAccounts: Bool {
        switch kind {
        case .entra, .b2c, .externalID: true
        case .adfs, .openIDConnect, .oauth2: false
        }
    }

    /// The object identifier in `uid`: B2C appends the policy to it.
    func objectID(fromUID uid: String) -> String {
        guard case .b2c(_, _, let policy, _) = kind, uid.hasSuffix("-" + policy) else { return uid }
        return String(uid.dropLast(policy.utf8.count + 1))
    }

    /// Whether `prompt=select_account` is understood. Others ignore it and sign in whoever the browser knows.
    var offersAccountSelection: Bool {
        switch kind {
        case .entra, .externalID: true
        case .b2c, .adfs, .openIDConnect, .oauth2: false
        }
    }

    /// Whether an application may have a signing key of its own.
    var hasApplicationKeys: Bool {
        switch kind {
        case .entra, .externalID: true
        case .b2c, .adfs, .openIDConnect, .oauth2: false
        }
    }

    var policy: String? {
        if case .b2c(_, _, let policy, _) = kind { policy } else { nil }
    }

    /// How scopes compare in records of a partition.
    static func scopeRule(forPartition partition: String) -> ScopeRule {
        ScopeRule(ignoresCase: !partition.hasPrefix("oidc|") && !partition.hasPrefix("oauth2|"))
    }

    var scopeRule: ScopeRule { ScopeRule(ignoresCase: isMicrosoft) }

    /// Refuses an authority of a call that is of another kind or cloud than the configured one.
    func checkFits(_ configured: Authority) throws {
        let isSameKind =
            switch (kind, configured.kind) {
            case (.entra, .entra): partition == configured.partition
            case (.b2c(let base, let tenant, _, _), .b2c(let other, let otherTenant, _, _)):
                base == other && tenant == otherTenant
            default: self == configured
            }
        guard isSameKind else {
            throw AuthenticationError(
                .invalidArgument,
                "The call's authority is of another kind, cloud or B2C tenant than the configured one."
            )
        }
    }
}

// Tenants, and whose they are.
extension Authority {
    /// Whether a token is good for one tenant and not for another.
    var hasTenants: Bool { if case .entra = kind { true } else { false } }

    /// The tenant whose tokens answer a silent request for `account`; `nil` where any does.
    ///
    /// `common` and `organizations` mean the account's own tenant; a tenant that was named is honoured.
    func effectiveTenant(for account: Account.ID) -> String? {
        guard case .entra(_, let tenant) = kind else { return nil }
        switch tenant {
        case "common", "organizations": return account.homeTenant
        case "consumers": return CloudInstances.consumersTenantID
        default: return tenant
        }
    }

    /// The authority that a refresh for `account` is sent to.
    func resolved(for account: Account.ID) -> Authority {
        guard case .entra(_, let tenant) = kind, tenant == "common" || tenant == "organizations",
            let home = account.homeTenant
        else { return self }
        return replacingTenant(with: home == CloudInstances.consumersTenantID ? "consumers" : home)
    }

    /// The realm under which a token is filed.
    func tenantOfToken(_ claims: IDTokenClaims) -> String {
        switch kind {
        case .entra, .externalID: claims.tid?.lowercased() ?? realm
        default: realm
        }
    }
}

extension Account.ID {
    /// The tenant in `uid.utid`.
    var homeTenant: String? {
        guard !rawValue.utf8.contains(UInt8(ascii: "|")), let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: "."))
        else {
            return nil
        }
        return String(rawValue[rawValue.utf8.index(after: dot)...])
    }
}
