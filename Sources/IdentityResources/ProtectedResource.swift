// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import IdentityClient
import OAuthWire
import SystemSupport

/// An API that says of itself who issues the tokens for it.
///
/// With it, a program signs in at a server that is not configured: an MCP server, a mail host, any API with this metadata.
///
/// ```swift
/// let resource = try await ProtectedResource.discover(at: "https://api.example.com/mcp")
/// let authority = try resource.authority()
/// let configuration = ClientConfiguration(clientID: clientID, authority: authority, cache: cache)
/// ```
/// - SeeAlso: [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)
public struct ProtectedResource: Hashable, Sendable {
    /// The resource exactly as it names itself. Tokens are for it, and are sent to its origin and below its path only. If that is
    /// above the called address, and nothing at its own place of the metadata confirms it, they are sent to the called address
    /// and below it only.
    public let identifier: String

    /// Where the tokens are found and sent: the identifier, or the called address.
    package let place: String

    /// The name that it gives itself, shortened and without control characters; `nil` if it gives none. It is the server's
    /// word: show the ``identifier`` beside it.
    public let name: String?

    /// The issuers of the servers that issue tokens for it, exactly as the resource spells them; at least one.
    public let authorizationServers: [String]

    /// The scopes to ask for: those that the resource demanded when it was called, otherwise all that it publishes. Empty if it
    /// says nothing, so that a request names none.
    public let scopes: Set<Scope>

    /// Whether it accepts only tokens that are bound to a key (DPoP, RFC 9449). Then set `dpop` of the configuration to
    /// `.required`.
    public let requiresDPoP: Bool

    /// Whether the person, and no document, has named its server.
    private let isConfigured: Bool

    /// Returns the authority at which to sign in for the resource.
    ///
    /// ```swift
    /// let authority = try resource.authority(issuer: "https://id.example.com")
    /// ```
    /// - Parameters:
    ///   - issuer: The issuer that the program trusts; `nil`, the default, if that of the resource is taken.
    ///   - assumesPKCE: As for `Authority.oauth2(issuer:resource:assumesPKCE:)`; `false` by default.
    /// - Throws: `.untrustedAuthority` if the resource does not list `issuer`: its server changed, or is another than expected;
    ///   `.configuration` if it lists several and none is named; `.invalidArgument` if the issuer is not an `https` address.
    public func authority(issuer: String? = nil, assumesPKCE: Bool = false) throws -> Authority {
        if let issuer {
            guard authorizationServers.contains(where: { WireText.areSame($0, issuer) }) else {
                throw AuthenticationError(
                    .untrustedAuthority,
                    """
                    \(identifier) does not name \(WireText.quoted(issuer)) as a server that issues its tokens, but \
                    \(listing). Ask who runs it whether that is right; only then sign in there.
                    """
                )
            }
            return try checked(.oauth2(issuer: issuer, resource: identifier, assumesPKCE: assumesPKCE))
        }
        guard let issuer = authorizationServers.first, authorizationServers.count == 1 else {
            throw AuthenticationError(
                .configuration,
                "\(identifier) takes tokens of several servers: name one of them as the issuer: \(listing)."
            )
        }
        return try checked(.oauth2(issuer: issuer, resource: identifier, assumesPKCE: assumesPKCE))
    }

    /// A document from elsewhere leads to no server of this computer.
    private func checked(_ authority: Authority) throws -> Authority {
        guard isConfigured || !authority.base.mayBeLoopback || WebAddress(identifier)?.isLoopback == true else {
            throw AuthenticationError(
                .untrustedAuthority,
                "\(identifier) names a server of this computer, \(listing), as the issuer of its tokens, which is refused."
            )
        }
        return authority
    }

    private var listing: String {
        authorizationServers.map { WireText.quoted($0) }.joined(separator: ", ")
    }
}

extension ProtectedResource {
    /// Returns what an API says of itself, after a call of it without a token.
    ///
    /// The document that the answer names is read; otherwise those at the places that RFC 9728 has for the address and for its
    /// host. Nothing is sent to another scheme, host or port than the address has, but to the `https` address that the answer
    /// names. No redirect is followed. It takes two requests, and five at most.
    ///
    /// ```swift
    /// let resource = try await ProtectedResource.discover(at: "https://api.example.com/mcp")
    /// print("Sign in at", resource.authorizationServers[0], "for", resource.identifier)
    /// ```
    /// - Parameters:
    ///   - address: The address of the API, `https`, or `http` on this computer. Its bytes are kept: a slash counts.
    ///   - transport: How requests are sent.
    ///   - requiresSameResource: Whether a document that the answer names has to be about the very address that was called
    ///     (RFC 9728 §3.3). If `false`, the default, it may be about a path above it, as `/mcp` is above `/mcp/tools`.
    /// - Throws: `.invalidArgument` for another address; `.unsupported` if nothing is published; `.invalidResponse` if the
    ///   document is about another resource; the transport's errors; `CancellationError`.
    public static func discover(
        at address: String,
        transport: any HTTPTransport = CurlTransport(),
        requiresSameResource: Bool = false
    ) async throws -> ProtectedResource {
        try await ResourceDiscovery(address, transport, requiresSameResource: requiresSameResource).run()
    }

    /// Returns what an API says of itself, after an answer of 401, or of 403 for want of scopes.
    ///
    /// ```swift
    /// let resource = try await ProtectedResource.discover(at: address, after: response)
    /// ```
    /// - Parameters:
    ///   - address: The address that was called.
    ///   - response: The answer.
    ///   - transport: How requests are sent.
    ///   - requiresSameResource: As for ``discover(at:transport:requiresSameResource:)``.
    /// - Throws: The errors of ``discover(at:transport:requiresSameResource:)``.
    public static func discover(
        at address: String,
        after response: HTTPResponse,
        transport: any HTTPTransport = CurlTransport(),
        requiresSameResource: Bool = false
    ) async throws -> ProtectedResource {
        try await ResourceDiscovery(address, transport, requiresSameResource: requiresSameResource).run(after: response)
    }
}

/// The search for a resource's document.
///
/// - SeeAlso: [RFC 9728 §3 and §5](https://www.rfc-editor.org/rfc/rfc9728#section-3)
struct ResourceDiscovery: Sendable {
    /// A place where the document may stand.
    struct Candidate: Hashable, Sendable {
        let url: String
        /// Whether the resource's answer named the place.
        let isNamed: Bool
        /// The identifiers from which the place was made; empty if the answer named it.
        let identifiers: [String]
    }

    private let text: String
    private let address: WebAddress
    private let transport: any HTTPTransport
    private let client: EndpointClient
    private let context = RequestContext(correlationID: nil, logger: nil)
    private let requiresSameResource: Bool
    /// The message of a second call, as JSON, for a resource that makes its demands at a message only; `nil` for none.
    var message: [UInt8]?
    /// The longest time for the head of an answer to a call.
    var patience = Duration.seconds(12)

    init(_ text: String, _ transport: any HTTPTransport, requiresSameResource: Bool) throws {
        guard let address = WebAddress(text) else {
            throw AuthenticationError(
                .invalidArgument,
                """
                The address of a resource is https, or http for this computer itself, without a name, a password and a \
                fragment, with everything but visible ASCII percent-encoded.
                """
            )
        }
        self.text = text
        self.address = address
        self.requiresSameResource = requiresSameResource
        self.transport = transport
        client = EndpointClient(transport: transport)
    }

    /// Calls the resource without a token, and returns what the first document that can be read says.
    func run() async throws -> ProtectedResource {
        let answer = try await head(.get)
        guard let message, answer.map(Self.challenges)?.isEmpty ?? true else { return try await run(after: answer) }
        return try await run(after: head(.post, .json(message)) ?? answer)
    }

    /// Sends a call. The body of the answer is not read: it may be a stream without an end.
    ///
    /// - Returns: `nil` without an answer in time. The document may stand at its place nevertheless.
    private func head(_ method: HTTPRequest.Method, _ body: RequestBody? = nil) async throws -> HTTPResponse? {
        var request = HTTPRequest(
            method: method,
            scheme: address.scheme,
            authority: address.environment,
            path: address.target,
            headerFields: [.accept: "application/json, text/event-stream"]
        ).withUserAgent
        request.headerFields[.contentType] = body?.contentType
        do {
            return try await withDeadline(patience) { [request, transport] in
                var reader: BodyReader?
                if let body { reader = try await BodyReader.open(body, nil) }
                return try await transport.exchange(request, body: reader).response
            }
        } catch is DeadlineExceeded {
            return nil
        } catch let error where !(error is AuthenticationError || error.isOfACancelledTask) {
            let text = "\(address.host) could not be reached. Try again; no new sign-in is needed."
            throw context.error(.network, text, underlyingError: error)
        }
    }

    /// Returns what the first document that can be read says.
    ///
    /// - Parameter response: The answer to a call; `nil` if there was none.
    func run(after response: HTTPResponse?) async throws -> ProtectedResource {
        let challenges = response.map(Self.challenges) ?? []
        let named = challenges.lazy.compactMap { $0.parameters["resource_metadata"] }.first
        var tried: [String] = []
        let isHere = named.flatMap { WebAddress($0) }?.mayBeLoopback == true && address.mayBeLoopback
        if let named, !isAskable(named) {
            let reason =
                isHere
                ? "this computer by another name or port"
                : "neither https on another computer, nor at the API's own origin"
            tried.append("\(WireText.quoted(named)) (not asked: \(reason))")
        }
        for candidate in candidates(named) {
            let (answer, body) = try await get(candidate.url)
            guard answer.status == .ok else {
                tried.append("\(candidate.url) (\(answer.status.code))")
                continue
            }
            let metadata: ResourceMetadata
            do {
                metadata = try ResourceMetadata(JSONObject(received: body))
            } catch {
                tried.append("\(candidate.url) (\(error))")
                continue
            }
            try check(metadata, at: candidate)
            let place = candidate.isNamed ? try await place(of: metadata, saidAt: candidate.url) : metadata.resource
            return ProtectedResource(metadata, place: place, demanded: Self.scopes(challenges))
        }
        let isMissing = response?.status == .notFound
        let advice =
            isMissing
            ? "Check its path."
            : isHere ? "Call it by the name that its answer has." : "Configure the authority in place of it."
        throw context.error(
            .unsupported,
            """
            \(address.withoutQuery)\(isMissing ? " answers 404, and" : "") does not say who issues its tokens (RFC 9728): \
            nothing that can be used is at \(tried.joined(separator: ", ")). \(advice)
            """
        )
    }

    /// Whether a document is read where the answer says that it is: no answer leads to a server of this computer.
    private func isAskable(_ named: String) -> Bool {
        guard let place = WebAddress(named) else { return false }
        return !place.mayBeLoopback || place.origin == address.origin
    }

    /// The places in their order, each once.
    private func candidates(_ named: String?) -> [Candidate] {
        var found: [Candidate] = []
        if let named, isAskable(named) { found.append(Candidate(url: named, isNamed: true, identifiers: [])) }
        let (own, host) = (Self.wellKnownPlace(of: address), Self.wellKnownPlace(of: address.root))
        let root = [address.origin, address.origin + "/"]
        found.append(Candidate(url: own, isNamed: false, identifiers: own == host ? [text] + root : [text]))
        if own != host { found.append(Candidate(url: host, isNamed: false, identifiers: [text] + root)) }
        return found
    }

    private func check(_ metadata: ResourceMetadata, at candidate: Candidate) throws {
        guard
            candidate.isNamed
                ? covers(metadata.resource) : candidate.identifiers.contains(where: { same($0, metadata) })
        else {
            throw context.error(
                .invalidResponse,
                """
                The metadata at \(candidate.url) is about another resource, \(WireText.quoted(metadata.resource)), \
                and not about \(text). Signing in would give a token for the wrong one. Tell who runs it.
                """
            )
        }
        guard metadata.takesHeader else {
            throw context.error(
                .unsupported,
                "\(address.host) takes no token in the field Authorization (bearer_methods_supported), and no other way is safe."
            )
        }
    }

    /// Returns how far a document reaches that the answer named. The owner of the called address may not speak for those above:
    /// the document at the own place of the address above must say the same.
    ///
    /// - Throws: `.invalidResponse` if it says something else.
    private func place(of metadata: ResourceMetadata, saidAt named: String) async throws -> String {
        guard !WireText.areSame(metadata.resource, text), let above = WebAddress(metadata.resource) else {
            return metadata.resource
        }
        let own = Self.wellKnownPlace(of: above)
        if WireText.areSame(own, named) { return metadata.resource }
        let (answer, body) = try await get(own)
        guard answer.status == .ok, let confirmed = try? ResourceMetadata(JSONObject(received: body)) else {
            return address.withoutQuery
        }
        guard same(confirmed.resource, metadata),
            Set(confirmed.authorizationServers.map { Array($0.utf8) })
                == Set(metadata.authorizationServers.map { Array($0.utf8) })
        else {
            throw context.error(
                .invalidResponse,
                """
                The metadata that \(address.withoutQuery) names is about \(above.text), whose own metadata at \(own) says \
                something else. Signing in would give a token for the wrong one. Tell who runs it.
                """
            )
        }
        return metadata.resource
    }

    /// The place that RFC 9728 has for an address. One that is the host's alone has a slash or none.
    private static func wellKnownPlace(of address: WebAddress) -> String {
        let path = (address.path == "/" ? "" : address.path) + (address.query.map { "?" + $0 } ?? "")
        return address.origin + wellKnown + path
    }

    private static let wellKnown = "/.well-known/oauth-protected-resource"

    private func same(_ identifier: String, _ metadata: ResourceMetadata) -> Bool {
        WireText.areSame(identifier, metadata.resource)
    }

    /// Whether a resource is the address that was called, or, unless that is required, a path above it on the same origin.
    private func covers(_ resource: String) -> Bool {
        if WireText.areSame(resource, text) { return true }
        guard !requiresSameResource, let other = WebAddress(resource) else { return false }
        return other.query == nil && other.isAbove(address)
    }

    private func get(_ url: String) async throws -> (HTTPResponse, body: [UInt8]) {
        // The authority names the host in messages, and adds nothing to the request.
        try await client.get(url, context: context, authority: .oauth2(issuer: address.origin))
    }

    private static func challenges(_ response: HTTPResponse) -> [AuthenticationChallenge] {
        let challenges = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
            .filter { ["bearer", "dpop"].contains($0.scheme) }
        switch response.status.code {
        case 401: return challenges
        case 403: return challenges.filter { $0.error == "insufficient_scope" }
        default: return []
        }
    }

    private static func scopes(_ challenges: [AuthenticationChallenge]) -> [String]? {
        challenges.lazy.compactMap { $0.parameters["scope"] }.first?.split(separator: " ").map(String.init)
    }
}

extension ProtectedResource {
    /// A resource that is described by hand.
    init(configured address: String, issuer: String) {
        (identifier, place, authorizationServers) = (address, address, [issuer])
        (name, scopes, requiresDPoP, isConfigured) = (nil, [], false, true)
    }

    init(_ metadata: ResourceMetadata, place: String? = nil, demanded: [String]?) {
        identifier = metadata.resource
        self.place = place ?? metadata.resource
        name = metadata.name.flatMap(WireText.name)
        authorizationServers = metadata.authorizationServers
        // What no request can name would only end it.
        let named = (demanded ?? metadata.scopes ?? []).filter { scope in
            !scope.isEmpty && scope.utf8.areVisible && !scope.utf8.contains { $0 == 0x22 || $0 == 0x5C }
        }
        scopes = Set(named.prefix(100).map(Scope.init(rawValue:)))
        requiresDPoP = metadata.requiresDPoP
        isConfigured = false
    }
}
