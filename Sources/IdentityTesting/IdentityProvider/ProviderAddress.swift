// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The address of one tenant, policy or issuer of the provider. Endpoints and addresses are derived from each other.
struct ProviderAddress: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// The path of the issuer, without the trailing slash.
        case plain(path: String)
        case entra(tenant: String)
        case externalID(tenant: String)
        case b2c(tenant: String, policy: String)
        case b2cTfp(tenant: String, policy: String)
        case b2cQuery(tenant: String, policy: String)
        case adfs
    }

    typealias Endpoint = TestIdentityProvider.Endpoint

    var origin: String
    var form: Form

    /// Returns the address of an endpoint, or `nil` if this kind of provider does not have the endpoint.
    func url(of endpoint: Endpoint) -> String? {
        if endpoint == .userInfo, case .entra = form, origin.hasPrefix("https://") { return Self.graphUserInfo }
        guard let suffix = suffixes.first(where: { $0.0 == endpoint })?.1 else { return nil }
        let query = if case .b2cQuery(_, let policy) = form { "?p=\(policy)" } else { "" }
        return origin + root + suffix + query
    }

    /// Whether the person's tokens are issued here.
    func isOwn(of person: TestIdentityProvider.Person) -> Bool {
        person.cloudHost.map { at($0).origin == origin } ?? true
    }

    /// The same address at another cloud's host.
    func at(_ host: String) -> ProviderAddress {
        ProviderAddress(origin: origin.prefix { $0 != ":" } + "://" + host, form: form)
    }

    var policy: String? {
        switch form {
        case .b2c(_, let policy), .b2cTfp(_, let policy), .b2cQuery(_, let policy): policy
        case .plain, .entra, .externalID, .adfs: nil
        }
    }

    private var root: String {
        switch form {
        case .plain(let path): path + "/"
        case .entra(let tenant), .externalID(let tenant), .b2cQuery(let tenant, _): "/\(tenant)/"
        case .b2c(let tenant, let policy): "/\(tenant)/\(policy)/"
        case .b2cTfp(let tenant, let policy): "/tfp/\(tenant)/\(policy)/"
        case .adfs: "/adfs/"
        }
    }

    private var suffixes: [(Endpoint, String)] {
        switch form {
        case .plain: Self.plainSuffixes
        case .adfs: Self.adfsSuffixes
        default: Self.microsoftSuffixes
        }
    }

    /// Returns the endpoint at `path`, and the address to which it belongs.
    static func resolve(
        _ profile: TestIdentityProvider.Profile,
        issuerPath: String,
        origin: String,
        path: String,
        policy: String?
    ) -> (ProviderAddress, Endpoint)? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        func at(_ index: Int) -> String { index < segments.count ? segments[index].lowercased() : "" }
        let form: Form
        switch profile {
        case .openIDConnect:
            form = .plain(path: issuerPath)
            // RFC 8414 §3.1 puts the well-known part in front of the issuer's path.
            if path == "/.well-known/oauth-authorization-server" + issuerPath {
                return (ProviderAddress(origin: origin, form: form), .discovery)
            }
        case .entra:
            form = .entra(tenant: at(0))
            if origin + path == Self.graphUserInfo {
                return (ProviderAddress(origin: origin, form: .entra(tenant: "common")), .userInfo)
            }
            if path == "/common/discovery/instance" {
                return (ProviderAddress(origin: origin, form: form), .instanceDiscovery)
            }
        case .externalID:
            form = .externalID(tenant: at(0))
        case .b2c:
            if at(0) == "tfp" {
                form = .b2cTfp(tenant: at(1), policy: at(2))
            } else if let policy {
                form = .b2cQuery(tenant: at(0), policy: policy.lowercased())
            } else {
                form = .b2c(tenant: at(0), policy: at(1))
            }
        case .adfs:
            form = .adfs
        }
        let address = ProviderAddress(origin: origin, form: form)
        let suffix = path.dropFirst(address.root.utf8.count)
        guard path.lowercased().hasPrefix(address.root.lowercased()),
            let endpoint = address.suffixes.first(where: { $0.1 == suffix })?.0
        else { return nil }
        return (address, endpoint)
    }

    /// Entra ID's UserInfo endpoint, which Microsoft Graph has. On the loopback interface, the provider has it itself.
    private static let graphUserInfo = "https://graph.microsoft.com/oidc/userinfo"

    private static let plainSuffixes: [(Endpoint, String)] = [
        (.discovery, ".well-known/openid-configuration"), (.keys, "keys"), (.authorization, "authorize"),
        (.interaction, "interaction"), (.token, "token"), (.deviceAuthorization, "device_authorization"),
        (.deviceVerification, "device"), (.revocation, "revoke"), (.endSession, "logout"), (.userInfo, "userinfo"),
        (.pushedAuthorization, "par"), (.introspection, "introspect"), (.registration, "register"),
    ]

    private static let microsoftSuffixes: [(Endpoint, String)] = [
        (.discovery, "v2.0/.well-known/openid-configuration"), (.keys, "discovery/v2.0/keys"),
        (.authorization, "oauth2/v2.0/authorize"), (.interaction, "interaction"), (.token, "oauth2/v2.0/token"),
        (.deviceAuthorization, "oauth2/v2.0/devicecode"), (.deviceVerification, "oauth2/deviceauth"),
        (.endSession, "oauth2/v2.0/logout"), (.userInfo, "openid/userinfo"),
    ]

    private static let adfsSuffixes: [(Endpoint, String)] = [
        (.discovery, ".well-known/openid-configuration"), (.keys, "discovery/keys"),
        (.authorization, "oauth2/authorize"), (.interaction, "interaction"), (.token, "oauth2/token"),
        (.deviceAuthorization, "oauth2/devicecode"), (.deviceVerification, "oauth2/deviceauth"),
        (.endSession, "oauth2/logout"), (.userInfo, "userinfo"),
    ]
}
