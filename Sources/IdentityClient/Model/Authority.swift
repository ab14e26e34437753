// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// The issuer of the tokens: one type for every kind of provider.
///
/// Creating an authority needs no network. Only `https` is accepted, except for loopback hosts.
///
/// ```swift
/// let work = try Authority.entra(.tenant("contoso.example"))
/// let own = try Authority.openIDConnect(issuer: "https://id.example.com")
/// ```
public struct Authority: Hashable, Sendable, CustomStringConvertible {
    package let kind: Kind
    /// The policy of ``ClientConfiguration/dpop`` in the flows, where it tells accounts apart as the authority does; `.off`
    /// elsewhere.
    private(set) var dpop = DPoPPolicy.off

    init(kind: Kind) {
        self.kind = kind
    }

    /// Returns the same authority with the policy of the configuration.
    func binding(tokens policy: DPoPPolicy) -> Authority {
        var authority = self
        authority.dpop = policy
        return authority
    }

    /// - Throws: `.invalidArgument` for a policy that this kind of authority cannot follow.
    package func check(_ policy: DPoPPolicy) throws {
        switch kind {
        case .openIDConnect, .authorizationServer: return
        case .entra, .b2c, .externalID, .adfs, .oauth2:
            guard policy != .off else { return }
            throw AuthenticationError(.invalidArgument, "\(url) issues no tokens that are bound by DPoP.")
        }
    }

    /// The people of Entra ID who may sign in.
    ///
    /// ```swift
    /// let personal = try Authority.entra(.consumers)
    /// ```
    @nonexhaustive public enum Audience: Hashable, Sendable {
        /// Work, school and personal accounts (`common`).
        case common
        /// Work and school accounts (`organizations`).
        case organizations
        /// Personal Microsoft accounts (`consumers`).
        case consumers
        /// The accounts of one tenant: its identifier (a GUID) or one of its domains.
        case tenant(String)

        var segment: String {
            switch self {
            case .common: "common"
            case .organizations: "organizations"
            case .consumers: "consumers"
            case .tenant(let tenant): tenant
            }
        }
    }

    /// Returns an authority for Microsoft Entra ID.
    ///
    /// - Parameters:
    ///   - audience: The people who may sign in.
    ///   - host: The cloud's host, for example `login.microsoftonline.us`.
    /// - Throws: `AuthenticationError` of the family `.configuration` when the tenant or the host cannot be part of an address.
    public static func entra(
        _ audience: Audience = .common,
        host: String = "login.microsoftonline.com"
    ) throws -> Authority {
        let address = try origin(host)
        return Authority(kind: .entra(address, tenant: try segment(audience.segment, "tenant").lowercased()))
    }

    /// Returns an authority for Azure AD B2C.
    ///
    /// - Parameters:
    ///   - host: `NAME.b2clogin.com`, or a custom domain.
    ///   - tenant: For example `NAME.onmicrosoft.com`.
    ///   - policy: The user flow or custom policy, for example `b2c_1_susi`.
    /// - Throws: `AuthenticationError` of the family `.configuration` when a part cannot be part of an address.
    public static func b2c(host: String, tenant: String, policy: String) throws -> Authority {
        Authority(
            kind: .b2c(
                try origin(host),
                tenant: try segment(tenant, "tenant").lowercased(),
                policy: try segment(policy, "policy").lowercased(),
                form: .path
            )
        )
    }

    /// Returns an authority for Microsoft Entra External ID for customers (CIAM).
    ///
    /// - Parameter host: `NAME.ciamlogin.com`, or a custom domain.
    /// - Parameter tenant: The tenant; `nil` means `NAME.onmicrosoft.com`, made from the host's first label.
    /// - Throws: `AuthenticationError` of the family `.configuration` when a part cannot be part of an address.
    public static func externalID(host: String, tenant: String? = nil) throws -> Authority {
        let address = try origin(host)
        let label = address.host.prefix { $0 != "." }
        return try externalID(at: address, tenant: tenant ?? "\(label).onmicrosoft.com")
    }

    /// Returns an authority for External ID at a scheme, host and port, because a test's provider is at `http`.
    package static func externalID(at base: WebAddress, tenant: String) throws -> Authority {
        Authority(kind: .externalID(base, tenant: try segment(tenant, "tenant").lowercased()))
    }

    /// Returns an authority for Active Directory Federation Services, 2019 or later.
    ///
    /// - Parameter host: The federation service's host.
    /// - Throws: `AuthenticationError` of the family `.configuration` when the host cannot be part of an address.
    public static func adfs(host: String) throws -> Authority {
        Authority(kind: .adfs(try origin(host)))
    }

    /// Returns an authority for any OpenID Connect provider that publishes its configuration.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier exactly as the provider spells it; case and query are kept.
    ///   - issuerPolicy: The issuers that the provider's configuration may name.
    ///   - deviceAuthorization: The endpoint at which a device asks for a code (RFC 8628). Set it if the provider has
    ///     this endpoint and does not publish it, as GitLab. A published endpoint takes precedence.
    ///   - revocation: The endpoint at which tokens are revoked (RFC 7009). Set it if the provider has this endpoint
    ///     and publishes it neither in its configuration nor as RFC 8414 describes. A published endpoint takes
    ///     precedence.
    ///   - idTokenAlgorithms: The algorithms that may sign ID tokens, named as in RFC 7518. They replace the algorithms
    ///     that the provider publishes in `id_token_signing_alg_values_supported`. `nil`, the default, means the
    ///     published algorithms.
    ///     ```swift
    ///     // A provider that signs with ES256 and publishes RS256.
    ///     try Authority.openIDConnect(issuer: "https://id.example.com", idTokenAlgorithms: ["ES256"])
    ///     ```
    /// - Throws: `AuthenticationError` of the family `.configuration` when the issuer or an endpoint is not an `https` address, or the
    ///   library does not verify an algorithm.
    /// - SeeAlso: [OpenID Connect Discovery §4](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig)
    public static func openIDConnect(
        issuer: String,
        issuerPolicy: IssuerPolicy = .exact,
        deviceAuthorization: String? = nil,
        revocation: String? = nil,
        idTokenAlgorithms: [String]? = nil
    ) throws -> Authority {
        _ = try self.issuer(issuer)
        for address in [deviceAuthorization, revocation].compactMap(\.self) { _ = try self.address(address) }
        let unpublished = try Unpublished(
            deviceAuthorization: deviceAuthorization,
            revocation: revocation,
            idTokenAlgorithms: idTokenAlgorithms
        )
        return Authority(kind: .openIDConnect(issuer: issuer, issuerPolicy, unpublished))
    }

    /// Returns an authority for a plain OAuth 2.0 server with the given endpoints. The server says nothing about the
    /// person. An ID token, such as LinkedIn's, is ignored because there is nothing to verify it with.
    ///
    /// Each sign-in creates a new account, because the library cannot tell whether it is the same person. To sign in
    /// again for an account, name it (``InteractiveParameters/account``). This is needed when the API refuses an access
    /// token that came without a lifetime and without a refresh token, such as GitHub's: until then, silent calls
    /// return that token. Scopes that the server separates by commas are split, unless a requested scope contains a
    /// comma.
    /// - Throws: `AuthenticationError` of the family `.configuration` when an endpoint or the issuer is not an `https` address.
    public static func oauth2(_ endpoints: OAuth2Endpoints) throws -> Authority {
        for endpoint in endpoints.all { _ = try address(endpoint) }
        return Authority(kind: .oauth2(endpoints))
    }

    /// Returns an authority for an OAuth 2.0 server that publishes its metadata, and need not know OpenID Connect: nothing is
    /// said about the person, as for ``oauth2(_:)``.
    ///
    /// The metadata is looked for as RFC 8414 says, and where OpenID Connect has it. A server that does not publish PKCE with
    /// `S256` is refused with `.unsupported`, and metadata that names another issuer with `.invalidResponse`.
    ///
    /// ```swift
    /// let authority = try Authority.oauth2(issuer: "https://id.example.com/tenant", resource: "https://api.example.com/mcp")
    /// ```
    /// - Parameters:
    ///   - issuer: The issuer identifier exactly as the server spells it, a slash at its end included.
    ///   - resource: The API that all tokens are for, exactly as it names itself (RFC 8707). It stands in each request, and
    ///     sign-ins for other resources keep accounts and tokens of their own. `nil`, the default, names none.
    ///   - assumesPKCE: Whether a server that publishes no methods of PKCE at all, as Entra ID, is known to check `S256`.
    /// - Throws: `AuthenticationError` of the family `.configuration` when the issuer is not an `https` address, or the resource not an absolute
    ///   URI without a fragment.
    /// - SeeAlso: [RFC 8414](https://www.rfc-editor.org/rfc/rfc8414), [RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)
    public static func oauth2(issuer: String, resource: String? = nil, assumesPKCE: Bool = false) throws -> Authority {
        guard try self.issuer(issuer).query == nil else {
            throw AuthenticationError(.invalidArgument, "An OAuth 2.0 issuer has no query (RFC 8414 §2).")
        }
        if let resource {
            guard WireText.isAbsoluteURI(resource), resource.utf8.count <= 2048,
                !resource.utf8.contains(UInt8(ascii: "#"))
            else {
                throw AuthenticationError(
                    .invalidArgument,
                    "A resource is an absolute URI without a fragment, of at most 2048 visible ASCII characters (RFC 8707 §2)."
                )
            }
        }
        return Authority(kind: .authorizationServer(issuer: issuer, resource: resource, assumesPKCE: assumesPKCE))
    }

    /// The API that all tokens are for; `nil` if the authority names none.
    public var resource: String? {
        if case .authorizationServer(_, let resource, _) = kind { resource } else { nil }
    }

    /// Whether a server that publishes no methods of PKCE is known to check `S256`.
    package var assumesPKCE: Bool {
        if case .authorizationServer(_, _, let assumesPKCE) = kind { assumesPKCE } else { false }
    }

    /// The authority's canonical address.
    public var description: String { url }
}

extension Authority {
    /// The issuers that the configuration of an OpenID Connect provider may name.
    ///
    /// ```swift
    /// let authority = try Authority.openIDConnect(issuer: "https://id.example.com/realm", issuerPolicy: .sameHost)
    /// ```
    @nonexhaustive public enum IssuerPolicy: Hashable, Sendable {
        /// The configured issuer only, compared character by character: a trailing slash counts.
        case exact
        /// Any issuer with the same scheme, host and port.
        case sameHost
        /// The listed issuers, compared exactly.
        case allowed([String])
    }

    /// The endpoints of an OAuth 2.0 server.
    ///
    /// ```swift
    /// let authority = try Authority.oauth2(
    ///     .init(authorization: "https://id.example.com/authorize", token: "https://id.example.com/token")
    /// )
    /// ```
    public struct OAuth2Endpoints: Hashable, Sendable {
        /// The address to which the browser sends the person.
        public var authorization: String
        /// The address at which codes and refresh tokens are redeemed.
        public var token: String
        /// The address at which a device asks for a code (RFC 8628); `nil` if there is none.
        public var deviceAuthorization: String?
        /// The address at which tokens are revoked (RFC 7009); `nil` if there is none.
        public var revocation: String?
        /// The issuer name that the server puts into its answers (`iss`, RFC 9207). If it is set, an answer with
        /// another name or without a name is refused. `nil`, the default, is for a server that does not name itself.
        public var issuer: String?

        /// Creates the set of endpoints.
        public init(
            authorization: String,
            token: String,
            deviceAuthorization: String? = nil,
            revocation: String? = nil,
            issuer: String? = nil
        ) {
            self.authorization = authorization
            self.token = token
            self.deviceAuthorization = deviceAuthorization
            self.revocation = revocation
            self.issuer = issuer
        }

        var all: [String] { [authorization, token] + [deviceAuthorization, revocation, issuer].compactMap(\.self) }
    }

    /// The kind of the authority. It is boxed: each call copies its authority, and copying a box costs one reference
    /// count, however much it holds.
    package indirect enum Kind: Hashable, Sendable {
        case entra(WebAddress, tenant: String)
        case b2c(WebAddress, tenant: String, policy: String, form: B2CForm)
        case externalID(WebAddress, tenant: String)
        case adfs(WebAddress)
        case openIDConnect(issuer: String, IssuerPolicy, Unpublished?)
        case oauth2(OAuth2Endpoints)
        case authorizationServer(issuer: String, resource: String?, assumesPKCE: Bool)
    }

    /// The four spellings of a B2C authority. A custom domain's spelling is the bare path.
    package enum B2CForm: Hashable, Sendable {
        /// `/tenant/policy/`
        case path
        /// `/tfp/tenant/policy/`
        case tfp
        /// `/tenant/…?p=policy`; holds the value as it was spelled.
        case query(String)
    }

    static func address(_ text: String) throws -> WebAddress {
        guard let address = WebAddress(text) else {
            // What stands before an @ may be a password.
            let isShown = !text.utf8.contains(UInt8(ascii: "@"))
            let shown = isShown ? "; \(WireText.quoted(text)) is no such address" : ""
            throw AuthenticationError(
                .invalidArgument,
                """
                An authority is an absolute https address (http only on a loopback host), ASCII, without user or \
                fragment\(shown).
                """
            )
        }
        return address
    }

    /// Checks the address of an issuer, under which its configuration is published.
    static func issuer(_ text: String) throws -> WebAddress {
        let address = try address(text)
        guard let mark = text.firstRange(of: "/.well-known/") else { return address }
        let issuer = WireText.quoted(String(text[..<mark.lowerBound]))
        throw AuthenticationError(
            .invalidArgument,
            "This is the address of a configuration. Its issuer stands in it as issuer, and is most often \(issuer), without /.well-known/."
        )
    }

    /// Returns the `https` origin of a host that was given without a scheme.
    static func origin(_ host: String) throws -> WebAddress {
        let address = try address("https://\(host)")
        guard address.path.isEmpty, address.query == nil else {
            throw AuthenticationError(.invalidArgument, "The authority's host is a host alone, without path or query.")
        }
        return address
    }

    static func segment(_ text: String, _ what: String) throws -> String {
        guard text.utf8.areAlphanumeric(or: ".-_~"), !text.isEmpty, text != ".", text != ".." else {
            throw AuthenticationError(
                .invalidArgument,
                "The authority's \(what), \(WireText.quoted(text)), cannot stand in a path."
            )
        }
        return text
    }
}

extension Authority {
    /// Creates the authority of a partition, as far as it says: it has neither a tenant of Microsoft's, nor a plain server's page for
    /// signing in.
    package init(partition: String) throws {
        let words = Self.kind(ofPartition: partition).split(separator: "|", maxSplits: 1).map(String.init)
        let text = words.last ?? ""
        let (parts, names) = (text.split(separator: "|").map(String.init), text.split(separator: " ", maxSplits: 1))
        switch (words.first, parts.count) {
        case ("entra", 1): self = try .entra(host: text)
        // A policy with other signs stands in no path.
        case ("b2c", 3) where parts[2].contains("%"):
            self = try Authority(url: "https://\(parts[0])/\(parts[1])/?p=\(parts[2])")
        case ("b2c", 3): self = try .b2c(host: parts[0], tenant: parts[1], policy: parts[2])
        case ("externalid", 2): self = try .externalID(host: parts[0], tenant: parts[1])
        case ("adfs", 1): self = try .adfs(host: text)
        case ("oidc", _): self = try .openIDConnect(issuer: text)
        case ("oauth2", _): self = try .oauth2(.init(authorization: text, token: text))
        case ("oauth2-issuer", _) where !names.isEmpty:
            self = try .oauth2(issuer: String(names[0]), resource: names.count > 1 ? String(names[1]) : nil)
        default: throw AuthenticationError(.cacheNewerVersion, "A newer version of this program wrote this sign-in.")
        }
    }
}
