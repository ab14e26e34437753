// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The clouds of Entra ID that are known without asking anyone, and which of their hosts mean the same.
///
/// Cache keys are made from this table alone, so that offline and online processes agree.
/// - SeeAlso: [National clouds](https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud)
package enum CloudInstances {
    /// Each cloud's hosts; the first is the one that requests go to.
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

    /// The tenant of personal Microsoft accounts.
    package static let consumersTenantID = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// All hosts of the cloud that `host` belongs to; itself alone where it is unknown.
    package static func aliases(of host: String) -> [String] {
        hosts.first { $0.contains(host) } ?? [host]
    }

    /// The one spelling of a cloud that cache keys use.
    package static func canonical(_ host: String) -> String {
        aliases(of: host)[0]
    }

    package static func isKnown(_ host: String) -> Bool {
        hosts.contains { $0.contains(host) }
    }

    /// Whether a host serves B2C tenants under Microsoft's own domain.
    package static func isB2C(_ host: String) -> Bool {
        ["com", "cn", "us", "de"].contains { host.hasSuffix(".b2clogin." + $0) }
    }

    /// Whether a host serves External ID (CIAM) tenants under Microsoft's own domain.
    package static func isCIAM(_ host: String) -> Bool {
        host.hasSuffix(".ciamlogin.com")
    }
}
