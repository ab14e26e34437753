// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension Authority {
    /// Creates the authority that `url` denotes, recognized by its form: Entra ID, B2C, External ID or AD FS.
    ///
    /// An OpenID Connect issuer has no recognizable form: use
    /// ``openIDConnect(issuer:issuerPolicy:deviceAuthorization:revocation:idTokenAlgorithms:)``. A B2C policy on a
    /// custom domain is recognized if its name begins with `b2c_`; for other policies, use
    /// ``b2c(host:tenant:policy:)``.
    ///
    /// Any other address with a path is taken for Entra ID. If its host belongs to no known cloud and is not in
    /// ``ClientConfiguration/knownHosts``, the first call that needs the provider throws `.untrustedAuthority`.
    /// - Throws: `AuthenticationError.configuration` when the address has none of these forms.
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
