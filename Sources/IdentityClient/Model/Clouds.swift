// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The provider of an application object, and the other clouds of Microsoft whose accounts it may use.
///
/// A cloud is trusted if the library knows its host or the program declares it. Names are compared by their bytes, and
/// none is repaired.
struct Clouds: Sendable {
    /// The configured authority.
    let authority: Authority
    /// Whether the accounts of other clouds are this application object's, too (`instance_aware`).
    let areSeveral: Bool

    /// The scope of the configured authority's accounts.
    let accountScope: String

    private let knownHosts: Set<String>

    init(of authority: Authority, areSeveral: Bool, knownHosts: Set<String>) {
        self.authority = authority
        self.areSeveral = areSeveral && authority.hasTenants
        self.knownHosts = knownHosts
        accountScope = authority.accountScope
    }

    /// Returns whether the accounts of a partition are this application object's.
    func contain(partition: String) -> Bool {
        contain(scope: Authority.accountScope(ofPartition: partition))
    }

    func contain(scope: String) -> Bool {
        if scope == accountScope { return true }
        guard areSeveral, let (kind, host) = Self.parts(scope), kind == "entra" else { return false }
        return base(of: host) != nil
    }

    /// Returns the authority of the same tenant in the cloud with `host`; `nil` if this is not the host of a trusted cloud.
    func authority(_ authority: Authority, at host: String) -> Authority? {
        guard case .entra(_, let tenant) = authority.kind else { return nil }
        if WireText.areSame(host, authority.environment) { return authority }
        return base(of: host).map { Authority(kind: .entra($0, tenant: tenant)) }
    }

    /// Returns the authority of a call: the one that it names or the configured one, in the cloud of its account.
    ///
    /// - Throws: `.invalidArgument` if the call names an authority of another kind, or of a cloud that is not used.
    func authority(_ named: Authority?, of account: Account?) throws -> Authority {
        let named = named?.binding(tokens: authority.dpop)
        try named?.checkFits(authority, inAnyCloud: areSeveral)
        return inCloud(of: account, named ?? authority)
    }

    /// Returns the configured authority, in the cloud of an account.
    func authority(of account: Account) -> Authority { inCloud(of: account, authority) }

    private func inCloud(of account: Account?, _ authority: Authority) -> Authority {
        guard areSeveral, let account, account.environment != authority.environment,
            let other = self.authority(authority, at: account.environment), other.partition != authority.partition
        else { return authority }
        return other
    }

    /// Returns the address of a trusted cloud.
    ///
    /// A provider on the loopback interface is a test's; its other clouds are there, too, and nowhere else.
    private func base(of host: String) -> WebAddress? {
        let own = authority.base
        guard let base = WebAddress("\(own.scheme)://\(host)"), base.path.isEmpty, base.query == nil,
            WireText.areSame(base.environment, host)
        else { return nil }
        if own.isLoopback { return base.isLoopback ? base : nil }
        let isTrusted = CloudInstances.isKnown(base.host) || knownHosts.contains(base.host)
        return base.port == nil && isTrusted ? base : nil
    }

    private static func parts(_ scope: String) -> (kind: Substring, host: String)? {
        guard let bar = scope.utf8.firstIndex(of: UInt8(ascii: "|")) else { return nil }
        return (scope[..<bar], String(scope[scope.utf8.index(after: bar)...]))
    }
}

/// The Entra ID clouds that the library knows without a request, and the hosts that denote the same cloud.
///
/// Cache keys are made from this table alone, so that offline and online processes agree.
/// - SeeAlso: [National clouds](https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud)
package enum CloudInstances {
    /// The hosts of each cloud. Requests go to the first host of a cloud.
    package static let hosts: [[String]] = [
        ["login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"],
        ["login.partner.microsoftonline.cn", "login.chinacloudapi.cn"],
        ["login.microsoftonline.de"],
        ["login.microsoftonline.us", "login.usgovcloudapi.net"],
        ["login-us.microsoftonline.com"],
        ["login.sovcloud-identity.fr"],
        ["login.sovcloud-identity.de"],
        ["login.sovcloud-identity.sg"],
    ]

    /// The hosts of Microsoft Graph in all clouds.
    /// - SeeAlso: [National cloud deployments](https://learn.microsoft.com/graph/deployments)
    package static let graphHosts: Set = [
        "graph.microsoft.com", "graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn",
        "graph.microsoft.de", "graph.svc.sovcloud.fr", "graph.svc.sovcloud.de", "graph.svc.sovcloud.sg",
    ]

    /// The tenant of personal Microsoft accounts.
    package static let consumersTenantID = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// Returns all hosts of the cloud that `host` belongs to; `host` alone if it is unknown.
    package static func aliases(of host: String) -> [String] {
        hosts.first { $0.contains(host) } ?? [host]
    }

    /// Returns the spelling of a cloud's host that cache keys use.
    package static func canonical(_ host: String) -> String {
        aliases(of: host)[0]
    }

    package static func isKnown(_ host: String) -> Bool {
        hosts.contains { $0.contains(host) }
    }

    /// Returns whether a host serves B2C tenants under Microsoft's own domain.
    package static func isB2C(_ host: String) -> Bool {
        ["com", "cn", "us", "de"].contains { host.hasSuffix(".b2clogin." + $0) }
    }

    /// Returns whether a host serves External ID (CIAM) tenants under Microsoft's own domain.
    package static func isCIAM(_ host: String) -> Bool {
        host.hasSuffix(".ciamlogin.com")
    }
}
