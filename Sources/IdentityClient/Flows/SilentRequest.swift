// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Which refresh callers may share.
struct RefreshWish: Hashable, Sendable {
    var authority: Authority
    var scopes: Set<String>
    var claims: String?
    var isForced: Bool
    /// Seconds. Who wants less may be given what another process has put there, which is not enough for who wants more.
    var minimumValidity: Int64
}

/// A silent acquisition that was checked, in the form the refresh needs.
struct SilentRequest: Sendable {
    let id: RecordID
    /// With the tenant that is really meant in place of `common` or `organizations`.
    let authority: Authority
    /// In the order they are sent.
    let scopes: [String]
    let claims: String?
    let isForced: Bool
    let need: CredentialRequest

    var wish: RefreshWish {
        RefreshWish(
            authority: authority,
            scopes: need.matchableScopes,
            claims: claims,
            isForced: isForced,
            minimumValidity: need.minimumValidity
        )
    }

    /// Names the request for the throttle.
    var throttleKey: String {
        ([authority.url, id.accountID] + need.matchableScopes.sorted()).joined(separator: "|")
    }
}

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
