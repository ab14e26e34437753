// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient
import OAuthWire

/// The search for the server of an address, and for a client there, before a person signs in.
///
/// Nothing is registered, and no page is opened, before the person has agreed to the ``FoundResource/question``.
package struct ResourceSearch: Sendable {
    /// The address that is called.
    package var address: String
    package var software: ClientSoftware
    /// The cache of the registrations.
    package var cache: any TokenCache
    package var memory: any ResourceMemory
    package var transport: any HTTPTransport = CurlTransport()
    package var requiresSameResource = false
    /// The issuer that the server must be; `nil` for the one that the resource names.
    package var issuer: String?
    /// Whether address and issuer are named together, in one place of the person's or the administrator's. Nothing else
    /// answers the question: a client ID says nothing about the server.
    package var isNamed = false
    /// Whether the issuer is taken without the resource's metadata, for a client that is configured in full.
    package var isWhole = false
    /// The client that was registered by hand; `nil` for one that the program registers.
    package var clientID: ClientID?
    /// The scopes in place of those that the resource asks for.
    package var scopes: Set<Scope>?
    package var dpop = DPoPPolicy.off
    package var assumesPKCE = false
    /// The message by which the address is asked as well, as JSON: that of MCP, for an address that the person calls a server of
    /// MCP; `nil` for none.
    package var message: [UInt8]?

    package init(
        _ address: String,
        software: ClientSoftware,
        cache: any TokenCache,
        memory: (any ResourceMemory)? = nil
    ) {
        self.address = address
        self.software = software
        self.cache = cache
        self.memory = memory ?? CachedResources(cache: cache, group: software.group)
    }

    /// Asks the address who issues its tokens, and that server what it offers.
    ///
    /// - Throws: The errors of ``ProtectedResource/discover(at:transport:requiresSameResource:)``; `.untrustedAuthority` if the
    ///   resource names another server than `issuer`, or than before.
    package func run() async throws -> FoundResource {
        let found = try await server(of: resource())
        try await found.checkClient()
        return found
    }

    /// Asks the server of a resource what it offers.
    ///
    /// - Throws: `.untrustedAuthority`, as ``run()``; the errors of the server's metadata.
    package func server(of resource: ProtectedResource) async throws -> FoundResource {
        let known = try await memory.known(of: address)
        // What names itself another address is another sign-in.
        let earlier = known.flatMap { WireText.areSame($0.identifier, resource.identifier) ? $0 : nil }
        // One that is nearer has servers of its own. Any other change of the address must keep the server.
        let isNearer = known.map { resource.isBelow($0.identifier) } ?? false
        let expected = issuer ?? (isNearer ? nil : known?.issuer)
        let listed = expected.flatMap { name in
            resource.authorizationServers.first { Self.areOne($0, name) }
        }
        let named: Authority
        do {
            named = try resource.authority(issuer: listed ?? expected, assumesPKCE: assumesPKCE)
        } catch let error as AuthenticationError where issuer == nil && expected != nil {
            let moved = MovedResource(address: address, servers: resource.authorizationServers)
            throw AuthenticationError(error.code, error.message, underlyingError: moved)
        }
        let (authority, metadata) = try await server(named)
        let isKnown = earlier.map { WireText.areSame($0.issuer, authority.url) } ?? false
        var found = FoundResource(
            search: self,
            resource: resource,
            authority: authority,
            metadata: metadata,
            earlier: earlier,
            scopes: scopes ?? resource.scopes.union(earlier?.scopes ?? []),
            dpop: resource.requiresDPoP ? .required : dpop.orStricter(earlier?.dpop ?? .off)
        )
        guard !isNamed, !isKnown else { return found }
        let others = try await memory.resources().filter {
            WireText.areSame($0.issuer, authority.url) && !WireText.areSame($0.identifier, resource.identifier)
        }
        found.question = BrowserQuestion(for: found, besides: Set(others.map(\.identifier)))
        return found
    }

    /// Whether a sign-in that is kept is what these settings ask for.
    func accepts(_ known: KnownResource) -> Bool {
        issuer.map { Self.areOne($0, known.issuer) } ?? true && clientID.map { $0 == known.clientID } ?? true
            && dpop.orStricter(known.dpop) == known.dpop
    }

    /// Asks the address who issues its tokens.
    package func resource() async throws -> ProtectedResource {
        if isWhole, let issuer { return ProtectedResource(configured: address, issuer: issuer) }
        do {
            var discovery = try ResourceDiscovery(address, transport, requiresSameResource: requiresSameResource)
            discovery.message = message
            return try await discovery.run()
        } catch let error as AuthenticationError where error.code == .unsupported && isNamed {
            // A resource without metadata is what the person says it is.
            guard let issuer else { throw error }
            return ProtectedResource(configured: address, issuer: issuer)
        }
    }

    /// Whether two issuers differ at most by the slash of an empty path, which only the server's metadata decides.
    private static func areOne(_ one: String, _ other: String) -> Bool {
        spellings(of: one).contains { WireText.areSame($0, other) }
    }

    /// The spellings of an issuer between which its server's metadata decides.
    package static func spellings(of issuer: String) -> [String] {
        guard let address = WebAddress(issuer), address.query == nil, ["", "/"].contains(address.path) else {
            return [issuer]
        }
        return [issuer, issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer + "/"]
    }

    /// Returns the server as its own metadata spells its issuer, which counts by its bytes from then on.
    private func server(_ named: Authority) async throws -> (Authority, ProviderMetadata) {
        var refusal: (any Error)?
        for spelling in Self.spellings(of: named.url) {
            let authority = try Authority.oauth2(
                issuer: spelling,
                resource: named.resource,
                assumesPKCE: named.assumesPKCE
            )
            do {
                return (authority, try await metadata(of: authority))
            } catch let error as AuthenticationError where error.code == .invalidResponse {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? AuthenticationError(.invalidResponse, "\(named.url) names another issuer.")
    }

    private func metadata(of authority: Authority) async throws -> ProviderMetadata {
        try await ProviderMetadata.read(
            of: authority,
            over: EndpointClient(transport: transport),
            cache: cache,
            group: software.group,
            clock: SystemClock(),
            RequestContext(correlationID: nil, logger: nil)
        )
    }
}

/// A resource that names other servers than before.
package struct MovedResource: Error {
    package let address: String
    package let servers: [String]
}

/// A resource, its server, and what a sign-in there asks for.
package struct FoundResource: Sendable {
    fileprivate let search: ResourceSearch
    package let resource: ProtectedResource
    package let authority: Authority
    package let metadata: ProviderMetadata
    /// The findings of an earlier sign-in for the same resource.
    package let earlier: KnownResource?
    package let scopes: Set<Scope>
    package let dpop: DPoPPolicy
    /// The question to which the person must agree before anything else; `nil` if it is answered.
    package fileprivate(set) var question: BrowserQuestion?

    /// The name of the program that asks.
    var program: String { search.software.name }

    /// The client that was registered by hand.
    private var givenClient: ClientID? { search.clientID ?? (earlier?.kind == .given ? earlier?.clientID : nil) }

    /// The kind of client to sign in with.
    private var kind: KnownResource.ClientKind {
        if givenClient != nil { return .given }
        return search.software.metadataDocument != nil && metadata.prefersMetadataDocument ? .document : .registered
    }

    /// Asks no person about a server that has no client for the program.
    ///
    /// - Throws: `.clientNotRegistered`; the errors of the cache.
    package func checkClient() async throws {
        guard kind == .registered, metadata.registrationEndpoint == nil else { return }
        let flow = RegistrationFlow(search.software, authority, search.cache, nil)
        guard try await flow.known() == nil else { return }
        throw flow.registersNone
    }

    /// The host of the sign-in page, if it is none that the issuer names and nothing shows whose answer comes back: neither the
    /// answer itself, nor a redirect address for this server alone.
    var otherHost: String? {
        guard kind != .registered, !metadata.namesIssuerInResponse,
            let host = WebAddress(metadata.authorizationEndpoint)?.environment, host != authority.base.environment
        else { return nil }
        return host
    }

    /// Returns the client to sign in with, which is registered if need be, and what to keep after the sign-in.
    ///
    /// - Parameter refused: A registered client that the server does not know any more.
    /// - Throws: The errors of `ClientRegistration.obtain`.
    package func client(replacing refused: ClientID? = nil) async throws -> (ClientRegistration, KnownResource) {
        let (software, kind) = (search.software, kind)
        let registration =
            if let clientID = givenClient {
                try ClientRegistration(unregistered: clientID, of: software, at: authority)
            } else {
                try await ClientRegistration.obtain(
                    of: software,
                    at: authority,
                    scopes: scopes,
                    cache: search.cache,
                    transport: search.transport,
                    replacing: refused
                )
            }
        var known = KnownResource(
            identifier: resource.identifier,
            place: resource.place,
            issuer: authority.url,
            scopes: scopes,
            clientID: registration.clientID,
            kind: kind,
            dpop: dpop,
            assumesPKCE: authority.assumesPKCE,
            isNamed: search.isNamed || earlier?.isNamed ?? false
        )
        known.redirectURI = registration.redirectURI
        known.isAskedByMessage = search.message != nil
        return (registration, known)
    }

    /// Keeps what a sign-in has found. A registration that it has replaced goes.
    package func keep(_ known: KnownResource) async throws {
        try await search.memory.keep(known, calledAt: search.address)
        guard let earlier, earlier.kind == .registered, earlier.clientID != known.clientID else { return }
        try await ClientRegistration.forget(earlier.clientID, of: search.software, at: authority, cache: search.cache)
    }
}

extension KnownResource {
    /// Returns the client of the sign-in; `nil` if its registration is gone.
    func registration(of software: ClientSoftware, cache: any TokenCache) async throws -> ClientRegistration? {
        let authority = try Authority.oauth2(issuer: issuer, resource: identifier, assumesPKCE: assumesPKCE)
        guard kind == .registered else {
            return try ClientRegistration(unregistered: clientID, of: software, at: authority)
        }
        return try await ClientRegistration.kept(clientID, of: software, at: authority, cache: cache)
    }
}

extension ProtectedResource {
    /// Whether it is nearer to a called address than another resource.
    fileprivate func isBelow(_ other: String) -> Bool {
        KnownResource.reaches(identifier, from: other) && !KnownResource.reaches(other, from: identifier)
    }
}

extension ProviderMetadata {
    /// Whether a program is known by its metadata document here. Its redirect address is the same at all servers, so that a server
    /// must name itself in its answers, unless it registers no program.
    var prefersMetadataDocument: Bool {
        takesClientIDMetadataDocument && (namesIssuerInResponse || registrationEndpoint == nil)
    }
}

extension DPoPPolicy {
    /// The stricter one of two.
    func orStricter(_ other: DPoPPolicy) -> DPoPPolicy {
        [self, other].first { $0 == .required } ?? [self, other].first { $0 == .whenOffered } ?? .off
    }
}
