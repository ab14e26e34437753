// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

// Differences between the kinds of providers that follow from the kind alone.
extension Authority {
    package var issuesIDTokens: Bool {
        switch kind {
        case .oauth2, .authorizationServer: false
        case .entra, .b2c, .externalID, .adfs, .openIDConnect: true
        }
    }

    /// Whether `client_info` identifies the person.
    var hasHomeAccounts: Bool {
        switch kind {
        case .entra, .b2c, .externalID: true
        case .adfs, .openIDConnect, .oauth2, .authorizationServer: false
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
        case .b2c, .adfs, .openIDConnect, .oauth2, .authorizationServer: false
        }
    }

    /// Whether an application may have a signing key of its own.
    var hasApplicationKeys: Bool {
        switch kind {
        case .entra, .externalID: true
        case .b2c, .adfs, .openIDConnect, .oauth2, .authorizationServer: false
        }
    }

    var policy: String? {
        if case .b2c(_, _, let policy, _) = kind { policy } else { nil }
    }

    /// Returns the rule by which the scopes in a partition's records compare.
    package static func scopeRule(forPartition partition: String) -> ScopeRule {
        let kind = kind(ofPartition: partition)
        return ScopeRule(ignoresCase: !["oidc|", "oauth2|", "oauth2-issuer|"].contains { kind.hasPrefix($0) })
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

extension Authority {
    /// The parameter of a request for codes and tokens that names the resource.
    ///
    /// - SeeAlso: [RFC 8707 §2](https://www.rfc-editor.org/rfc/rfc8707#section-2)
    var resourceItems: [(String, String)] { resource.map { [("resource", $0)] } ?? [] }

    /// The canonical address, and the resource after a space: what tells this authority from others of its kind.
    package var fullName: String { url + (resource.map { " " + $0 } ?? "") }
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
    package var homeTenant: String? {
        guard !rawValue.utf8.contains(UInt8(ascii: "|")), let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: "."))
        else {
            return nil
        }
        return String(rawValue[rawValue.utf8.index(after: dot)...])
    }
}

// Values that follow from the address alone, without a request.
extension Authority {
    /// The canonical address, as error texts and logs show it.
    package var url: String {
        switch kind {
        case .entra(let base, let tenant): "\(base.origin)/\(tenant)/"
        case .b2c(let base, let tenant, let policy, .tfp): "\(base.origin)/tfp/\(tenant)/\(policy)/"
        case .b2c(let base, let tenant, let policy, .path): "\(base.origin)/\(tenant)/\(policy)/"
        case .b2c(let base, let tenant, _, .query(let spelled)): "\(base.origin)/\(tenant)/?p=\(spelled)"
        case .externalID(let base, let tenant): "\(base.origin)/\(tenant)/"
        case .adfs(let base): "\(base.origin)/adfs/"
        case .openIDConnect(let issuer, _, _), .authorizationServer(let issuer, _, _): issuer
        case .oauth2(let endpoints): endpoints.token
        }
    }

    /// The scheme, host and port of the authority.
    package var base: WebAddress {
        switch kind {
        case .entra(let base, _), .b2c(let base, _, _, _), .externalID(let base, _), .adfs(let base): base
        case .openIDConnect(let issuer, _, _), .authorizationServer(let issuer, _, _):
            WebAddress(issuer) ?? WebAddress(host: "invalid")
        case .oauth2(let endpoints): WebAddress(endpoints.token) ?? WebAddress(host: "invalid")
        }
    }

    /// The host and port, which MSAL calls an account's environment.
    package var environment: String { base.environment }

    /// Whether the provider speaks Microsoft's extensions: `client_info`, correlation headers, tenants.
    package var isMicrosoft: Bool {
        switch kind {
        case .entra, .b2c, .externalID, .adfs: true
        case .openIDConnect, .oauth2, .authorizationServer: false
        }
    }

    /// The tenant in the path; `nil` if there is none.
    package var tenant: String? {
        switch kind {
        case .entra(_, let tenant), .b2c(_, let tenant, _, _), .externalID(_, let tenant): tenant
        case .adfs, .openIDConnect, .oauth2, .authorizationServer: nil
        }
    }

    /// The name of the set of credentials that belong together: the cloud, the B2C policy, the issuer. It is part of
    /// every cache key.
    package var partition: String {
        // Earlier versions know no such partition: they would send the refresh token without a proof.
        dpop == .off ? partitionOfKind : Self.bound + partitionOfKind
    }

    private static let bound = "dpop|"

    /// Whether the refresh tokens in a partition are bound to a key.
    package static func isBound(partition: String) -> Bool { partition.hasPrefix(bound) }

    static func kind(ofPartition partition: String) -> Substring {
        isBound(partition: partition) ? partition.dropFirst(bound.count) : partition[...]
    }

    private var partitionOfKind: String {
        switch kind {
        case .entra(let base, _): "entra|" + Self.canonicalEnvironment(base)
        case .b2c(let base, let tenant, let policy, _): "b2c|\(base.environment)|\(tenant)|\(policy)"
        case .externalID(let base, let tenant): "externalid|\(base.environment)|\(tenant)"
        case .adfs(let base): "adfs|\(base.environment)"
        case .openIDConnect(let issuer, _, _): "oidc|" + issuer
        case .oauth2(let endpoints): "oauth2|" + endpoints.token
        // A space is in neither of the two. Earlier versions know no such partition, and leave its records alone.
        case .authorizationServer: "oauth2-issuer|" + fullName
        }
    }

    /// The realm under which access tokens are stored if the ID token names no tenant.
    package var realm: String {
        switch kind {
        case .entra(_, let tenant), .b2c(_, let tenant, _, _), .externalID(_, let tenant): tenant
        case .adfs: "adfs"
        case .openIDConnect(let issuer, _, _): WebAddress(issuer)?.segments.first ?? ""
        case .oauth2, .authorizationServer: ""
        }
    }

    /// The addresses at which the provider may publish its configuration, the likeliest first; empty for plain OAuth
    /// 2.0.
    ///
    /// - SeeAlso: [RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)
    package var configurationURLs: [String] {
        switch kind {
        case .entra, .externalID, .b2c(_, _, _, .path), .b2c(_, _, _, .tfp):
            return [url + "v2.0/.well-known/openid-configuration"]
        case .b2c(let base, let tenant, _, .query(let spelled)):
            return ["\(base.origin)/\(tenant)/v2.0/.well-known/openid-configuration?p=\(spelled)"]
        case .adfs:
            return [url + ".well-known/openid-configuration"]
        case .openIDConnect(let issuer, _, _):
            guard let address = WebAddress(issuer) else { return [] }
            let path = address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
            let query = address.query.map { "?" + $0 } ?? ""
            return [
                "\(address.origin)\(path)/.well-known/openid-configuration\(query)",
                "\(address.origin)/.well-known/oauth-authorization-server\(path)\(query)",
            ]
        case .oauth2:
            return []
        case .authorizationServer(let issuer, _, _):
            guard let address = WebAddress(issuer) else { return [] }
            // Deviation: some issuers end in a slash, which belongs to no address.
            let path = address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
            let inserted = ["oauth-authorization-server", "openid-configuration"].map {
                "\(address.origin)/.well-known/\($0)\(path)"
            }
            return inserted + (path.isEmpty ? [] : ["\(address.origin)\(path)/.well-known/openid-configuration"])
        }
    }

    /// Returns the same authority with another tenant; unchanged if it has no tenant to replace.
    package func replacingTenant(with tenant: String) -> Authority {
        guard case .entra(let base, _) = kind else { return self }
        return Authority(kind: .entra(base, tenant: tenant))
    }

    private static func canonicalEnvironment(_ base: WebAddress) -> String {
        base.port == nil ? CloudInstances.canonical(base.host) : base.environment
    }
}

extension Authority {
    /// The scope within which accounts are listed together: the partition without the B2C policy.
    var accountScope: String { Self.accountScope(ofPartition: partition) }

    static func accountScope(ofPartition partition: String) -> String {
        guard partition.hasPrefix("b2c|"), let end = partition.lastIndex(of: "|") else { return partition }
        return String(partition[..<end])
    }
}

extension Authority {
    /// Creates the authority that `url` denotes, recognized by its form: Entra ID, B2C, External ID or AD FS.
    ///
    /// An OpenID Connect issuer has no recognizable form: use
    /// ``openIDConnect(issuer:issuerPolicy:deviceAuthorization:revocation:idTokenAlgorithms:)``. A B2C policy on a
    /// custom domain is recognized if its name begins with `b2c_`; for other policies, use
    /// ``b2c(host:tenant:policy:)``.
    ///
    /// Any other address with a path is taken for Entra ID. If its host belongs to no known cloud and is not in
    /// ``ClientConfiguration/Entra/knownHosts``, the first call that needs the provider throws `.untrustedAuthority`.
    /// - Throws: `AuthenticationError` of the family `.configuration` when the address has none of these forms.
    public init(url: String) throws {
        let address = try Self.address(url)
        let base = WebAddress(scheme: address.scheme, host: address.host, port: address.port, path: "")
        let segments = try address.segments.map { try Self.segment($0, "path") }
        let first = segments.first?.lowercased()

        if CloudInstances.isCIAM(address.host) {
            let label = address.host.prefix { $0 != "." }
            kind = .externalID(base, tenant: first ?? "\(label).onmicrosoft.com")
        } else if first == "adfs" {
            kind = .adfs(base)
        } else if first == "tfp" {
            guard segments.count >= 3 else { throw Self.unrecognised }
            kind = .b2c(base, tenant: segments[1].lowercased(), policy: segments[2].lowercased(), form: .tfp)
        } else if let first, let policy = try Self.policy(in: address.query) {
            kind = .b2c(base, tenant: first, policy: policy.lowercased(), form: .query(policy))
        } else if let first, segments.count >= 2, Self.isB2CPath(address.host, segments) {
            kind = .b2c(base, tenant: first, policy: segments[1].lowercased(), form: .path)
        } else if let first, !CloudInstances.isB2C(address.host) {
            kind = .entra(base, tenant: first)
        } else {
            throw Self.unrecognised
        }
    }

    private static func isB2CPath(_ host: String, _ segments: [String]) -> Bool {
        CloudInstances.isB2C(host) || (segments.count == 2 && segments[1].lowercased().hasPrefix("b2c_"))
    }

    /// Returns the value of `p`. The percent escapes that occur in B2C policies stay as they are.
    private static func policy(in query: String?) throws -> String? {
        guard let item = query?.split(separator: "&").first(where: { $0.hasPrefix("p=") }) else { return nil }
        let policy = String(item.dropFirst(2))
        guard !policy.isEmpty else { return nil }
        _ = try segment(policy.filter { $0 != "%" }, "policy")
        return policy
    }

    private static var unrecognised: AuthenticationError {
        AuthenticationError(
            .invalidArgument,
            "The authority's form is none of Entra ID, B2C, External ID or AD FS; name an OpenID Connect provider by its issuer."
        )
    }
}

extension Authority {
    /// Facts about an OpenID Connect provider that the program states because the provider publishes them wrongly or
    /// not at all.
    ///
    /// Most authorities have `nil` here. It is a class, because every call copies its authority.
    package final class Unpublished: Hashable, Sendable {
        let deviceAuthorization: String?
        let revocation: String?
        let idTokenAlgorithms: [String]?

        /// - Returns: `nil` if no fact is given.
        /// - Throws: `.invalidArgument` if the list of algorithms is empty or contains an algorithm that the library
        ///   does not verify.
        init?(deviceAuthorization: String?, revocation: String?, idTokenAlgorithms: [String]?) throws {
            if let idTokenAlgorithms {
                let isVerified = idTokenAlgorithms.allSatisfy { SignatureAlgorithm(name: $0) != nil }
                guard isVerified, !idTokenAlgorithms.isEmpty else {
                    throw AuthenticationError(
                        .invalidArgument,
                        """
                        The algorithms for ID tokens are one or more of \
                        \(SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")).
                        """
                    )
                }
            } else if deviceAuthorization == nil, revocation == nil {
                return nil
            }
            self.deviceAuthorization = deviceAuthorization
            self.revocation = revocation
            self.idTokenAlgorithms = idTokenAlgorithms
        }

        package static func == (first: Unpublished, second: Unpublished) -> Bool {
            first === second
                || first.deviceAuthorization == second.deviceAuthorization && first.revocation == second.revocation
                    && first.idTokenAlgorithms == second.idTokenAlgorithms
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(deviceAuthorization)
            hasher.combine(revocation)
            hasher.combine(idTokenAlgorithms)
        }
    }

    private var unpublished: Unpublished? {
        if case .openIDConnect(_, _, let unpublished) = kind { unpublished } else { nil }
    }

    /// The endpoint at which a device asks for a code, as the program states it.
    var deviceAuthorization: String? { unpublished?.deviceAuthorization }

    /// The endpoint at which tokens are revoked, as the program states it.
    var revocation: String? { unpublished?.revocation }

    /// The algorithms that may sign ID tokens, as the program states them.
    var idTokenAlgorithms: [String]? { unpublished?.idTokenAlgorithms }
}
