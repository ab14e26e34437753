// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
