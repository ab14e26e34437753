// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// Differences between the kinds of providers that follow from the kind alone.
extension Authority {
    package var issuesIDTokens: Bool {
        if case .oauth2 = kind { false } else { true }
    }

    /// Whether `client_info` identifies the person.
    var hasHomeAccounts: Bool {
        switch kind {
        case .entra, .b2c, .externalID: true
        case .adfs, .openIDConnect, .oauth2: false
        }
    }

    /// Returns the object identifier in `uid`, without the policy that B2C appends to it.
    func objectID(fromUID uid: String) -> String {
        guard case .b2c(_, _, let policy, _) = kind, uid.hasSuffix("-" + policy) else { return uid }
        return String(uid.dropLast(policy.utf8.count + 1))
    }

    /// Whether the provider understands `prompt=select_account`. Other providers ignore it and sign in the browser's
    /// current user.
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

    /// Returns the rule by which the scopes in a partition's records compare.
    static func scopeRule(forPartition partition: String) -> ScopeRule {
        ScopeRule(ignoresCase: !partition.hasPrefix("oidc|") && !partition.hasPrefix("oauth2|"))
    }

    var scopeRule: ScopeRule { ScopeRule(ignoresCase: isMicrosoft) }

    /// Throws if a call's authority is of another kind or cloud than the configured authority.
    ///
    /// - Parameter inAnyCloud: Whether another of Microsoft's clouds fits as well.
    func checkFits(_ configured: Authority, inAnyCloud: Bool = false) throws {
        let isSameKind =
            switch (kind, configured.kind) {
            case (.entra, .entra): inAnyCloud || partition == configured.partition
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

// Tenants, and the accounts that belong to them.
extension Authority {
    /// Whether a token is valid for one tenant only.
    var hasTenants: Bool { if case .entra = kind { true } else { false } }

    /// Returns the tenant whose tokens answer a silent request for `account`; `nil` if any tenant's tokens do.
    ///
    /// `common` and `organizations` mean the account's own tenant. A tenant that the program named is honored.
    func effectiveTenant(for account: Account.ID) -> String? {
        guard case .entra(_, let tenant) = kind else { return nil }
        switch tenant {
        case "common", "organizations": return account.homeTenant
        case "consumers": return CloudInstances.consumersTenantID
        default: return tenant
        }
    }

    /// Returns the authority to which a refresh for `account` is sent.
    func resolved(for account: Account.ID) -> Authority {
        guard case .entra(_, let tenant) = kind, tenant == "common" || tenant == "organizations",
            let home = account.homeTenant
        else { return self }
        return replacingTenant(with: home == CloudInstances.consumersTenantID ? "consumers" : home)
    }

    /// Returns the realm under which a token is stored.
    func tenantOfToken(_ claims: IDTokenClaims) -> String {
        switch kind {
        case .entra, .externalID: claims.tid?.lowercased() ?? realm
        default: realm
        }
    }
}

extension Account.ID {
    /// The home tenant, from `uid.utid`.
    var homeTenant: String? {
        guard !rawValue.utf8.contains(UInt8(ascii: "|")), let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: "."))
        else {
            return nil
        }
        return String(rawValue[rawValue.utf8.index(after: dot)...])
    }
}
