// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import OAuthWire

extension TestIdentityProvider {
    /// Returns the authority of a B2C policy, reached through ``transport``.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` if the policy cannot be part of an address.
    public func authority(policy: String) throws -> Authority {
        try Self.authority(profile, origin: origin, issuerPath: issuerPath, policy: policy)
    }

    /// The provider's authority on loopback; `nil` unless the provider listens.
    public var loopbackAuthority: Authority? {
        guard let origin = snapshot.loopbackOrigin else { return nil }
        // Cannot fail: the same parts made an authority before.
        return try? Self.authority(profile, origin: origin, issuerPath: issuerPath, policy: nil)
    }

    static func defaultIssuer(_ profile: Profile) -> String {
        switch profile {
        case .openIDConnect: "https://login.example.test"
        case .entra: "https://login.microsoftonline.com"
        case .externalID: "https://contoso.ciamlogin.com"
        case .b2c(let tenant, _): "https://\(tenant.prefix { $0 != "." }).b2clogin.com"
        case .adfs: "https://fs.example.test"
        }
    }

    static func authority(
        _ profile: Profile,
        origin: String,
        issuerPath: String,
        policy: String?
    ) throws -> Authority {
        switch profile {
        case .openIDConnect: return try .openIDConnect(issuer: origin + issuerPath)
        case .entra(let tenantID): return try Authority(url: "\(origin)/\(tenantID)")
        case .externalID(let tenantID):
            guard let base = WebAddress(origin), !CloudInstances.isCIAM(base.host) else {
                return try Authority(url: origin)
            }
            return try .externalID(at: base, tenant: tenantID)
        case .b2c(let tenant, let policies):
            guard let policy = policy ?? policies.first else {
                throw AuthenticationError(.invalidArgument, "A B2C provider needs a policy.")
            }
            // On hosts other than Microsoft's, only this form is recognized for every policy name.
            let prefix = policy.lowercased().hasPrefix("b2c_") ? "" : "tfp/"
            return try Authority(url: "\(origin)/\(prefix)\(tenant)/\(policy)")
        case .adfs: return try Authority(url: "\(origin)/adfs")
        }
    }
}

extension TestIdentityProvider {
    /// A configuration for a program in this process that signs in here: the provider's authority, transport and clock,
    /// and the browser with its receiver.
    ///
    /// ```swift
    /// let provider = try TestIdentityProvider(clock: ManualClock())
    /// let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
    /// let app = try PublicClientApplication(provider.configuration(browser: browser))
    /// ```
    ///
    /// - Parameters:
    ///   - browser: The browser that signs in. The loopback interface is used if it was made without a receiver.
    ///   - clientID: A client ID that the provider knows; `provider.add(_:)` registers others.
    ///   - cache: The cache for the tokens; a new one in memory unless given.
    public func configuration(
        browser: ScriptedBrowser,
        clientID: ClientID = "test-client",
        cache: any TokenCache = InMemoryTokenCache()
    ) -> ClientConfiguration {
        var configuration = ClientConfiguration(
            clientID: clientID,
            authority: authority,
            cache: cache
        )
        configuration.transport = transport
        configuration.browser = browser
        configuration.redirectReceiver = browser.redirectReceiver
        configuration.clock = clock
        return configuration
    }
}
