// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import IdentityClient
import OAuthWire
import SystemSupport

/// The registration that a program made for itself at a server.
///
/// It is kept in the cache beside the tokens, and all processes share it: however many ask at the same time, the server gets
/// one request.
///
/// ```swift
/// let authority = try Authority.oauth2(issuer: "https://id.example.com")
/// let registration = try await ClientRegistration.obtain(of: software, at: authority, cache: cache)
/// let app = try PublicClientApplication(registration.configuration(cache: cache))
/// ```
/// - SeeAlso: [RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)
public struct ClientRegistration: Hashable, Sendable {
    /// The server.
    public let authority: Authority

    /// The client id that the server gave, or the address of the program's metadata document.
    public let clientID: ClientID

    /// The secret that the server gave; `nil` without one.
    public let clientSecret: ClientSecret?

    /// When the secret ends. Then ``obtain(of:at:cache:group:transport:clock:replacing:)`` registers anew. `nil` if it does not.
    public let secretExpiresOn: Date?

    /// The address to which the browser returns.
    public let redirectURI: RedirectURI

    /// The group of the registration and of its tokens.
    public let group: CacheGroup

    package let secretPlace: ClientCredentials.Place?

    /// Returns a configuration with the registration's client, and everything else by default.
    ///
    /// - Parameter cache: The cache of the registration.
    public func configuration(cache: any TokenCache) -> ClientConfiguration {
        var configuration = ClientConfiguration(clientID: clientID, authority: authority, cache: cache)
        configuration.clientSecret = clientSecret
        configuration.clientSecretPlace = secretPlace
        configuration.redirectURI = redirectURI
        configuration.redirectReceiver = WaitingRedirectReceiver()
        configuration.cacheGroup = group
        return configuration
    }
}

extension ClientRegistration {
    /// Returns the program's registration at a server. If there is none yet, the program is registered.
    ///
    /// A server that takes the program's metadata document gets no request. Otherwise the registration of the cache is
    /// returned without a request to the server. A lease keeps several processes from registering at the same time: one
    /// registers, and the others wait for its result, for 100 s at most.
    ///
    /// ```swift
    /// do {
    ///     registration = try await ClientRegistration.obtain(of: software, at: authority, cache: cache)
    /// } catch let error as AuthenticationError where .clientNotRegistered ~= error.code {
    ///     show(error.message)  // what to register by hand
    /// }
    /// ```
    /// - Parameters:
    ///   - software: The program.
    ///   - authority: The server, with or without a resource.
    ///   - cache: The cache that keeps the registration, and the tokens later.
    ///   - group: The programs that share the registration; `nil`, the default, means those with the same ``ClientSoftware/id``.
    ///   - transport: How requests are sent.
    ///   - clock: The clock that tells the current time.
    ///   - refused: A client id that the server refused (`.clientNotRegistered`), which is registered anew unless another
    ///     process has done so. `nil` unless given.
    /// - Throws: `.clientNotRegistered` if the server registers no program, or not this one: the message says which client to
    ///   register by hand; `.invalidArgument` if the software's ID, ports or document cannot be used; `.invalidResponse` and
    ///   its second levels if the answer is not believed; `.cacheBusy` if another process takes too long; the errors of the
    ///   cache; `.network`, `.serverUnavailable`; `CancellationError`.
    public static func obtain(
        of software: ClientSoftware,
        at authority: Authority,
        cache: any TokenCache,
        group: CacheGroup? = nil,
        transport: any HTTPTransport = CurlTransport(),
        clock: any WallClock = SystemClock(),
        replacing refused: ClientID? = nil
    ) async throws -> ClientRegistration {
        guard !software.id.isEmpty, software.id.utf8.count <= 256, software.redirectPorts.lowerBound > 0 else {
            throw AuthenticationError(
                .invalidArgument,
                "A program registers with an ID of 1 to 256 bytes, and with ports from 1 on."
            )
        }
        let group = group ?? software.group
        return try await RegistrationFlow(software, authority, cache, group, transport, clock, refused: refused).run()
    }

    /// Returns the registration in the cache; `nil` if there is none that can be used. No request is sent.
    ///
    /// - Throws: The errors of the cache.
    public static func kept(
        of software: ClientSoftware,
        at authority: Authority,
        cache: any TokenCache,
        group: CacheGroup? = nil
    ) async throws -> ClientRegistration? {
        let (group, transport) = (group ?? software.group, CurlTransport())
        return try await RegistrationFlow(software, authority, cache, group, transport, SystemClock()).known()
    }

    /// Forgets the registration in the cache, after which the next sign-in registers the program anew. The server still knows
    /// the client.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: The errors of the cache.
    @discardableResult
    public static func forget(
        of software: ClientSoftware,
        at authority: Authority,
        cache: any TokenCache,
        group: CacheGroup? = nil
    ) async throws -> Bool {
        let (group, transport) = (group ?? software.group, CurlTransport())
        let key = RegistrationFlow(software, authority, cache, group, transport, SystemClock()).key
        guard let record = try await cache.record(for: key) else { return false }
        return try await cache.replace(record, with: nil, for: key)
    }

    /// The program by the address of its metadata document, without a check of whether the server takes that.
    package init(
        document: ClientID,
        of software: ClientSoftware,
        at authority: Authority,
        group: CacheGroup? = nil
    ) throws {
        self.init(
            authority: authority,
            clientID: document,
            clientSecret: nil,
            secretExpiresOn: nil,
            redirectURI: try software.redirectURI(),
            group: group ?? software.group,
            secretPlace: nil
        )
    }
}

/// Finds the registration of a program, or makes it once for all processes.
struct RegistrationFlow: Sendable {
    let software: ClientSoftware
    let authority: Authority
    let cache: any TokenCache
    let group: CacheGroup
    let client: EndpointClient
    let clock: any WallClock
    let refused: ClientID?
    let context = RequestContext(correlationID: nil, logger: nil)

    init(
        _ software: ClientSoftware,
        _ authority: Authority,
        _ cache: any TokenCache,
        _ group: CacheGroup,
        _ transport: any HTTPTransport,
        _ clock: any WallClock,
        refused: ClientID? = nil
    ) {
        self.software = software
        self.authority = authority
        self.cache = cache
        self.group = group
        self.clock = clock
        self.refused = refused
        client = EndpointClient(transport: transport)
    }

    private func metadata() async throws -> ProviderMetadata {
        try await ProviderMetadata.read(of: authority, over: client, cache: cache, group: group, clock: clock, context)
    }

    /// The longest lease. It outlasts three requests.
    private static let duration = Duration.seconds(100)

    /// One registration for an issuer and a program, whatever the resource.
    var key: CacheKey {
        CacheKey(
            group: group,
            kind: .application,
            name: Digest.hexadecimal(of: ["registration", authority.url, software.id])
        )
    }

    func run() async throws -> ClientRegistration {
        if let document = software.metadataDocument, let known = try await byDocument(document) { return known }
        if let known = try await known() { return known }
        let turn = SharedTurn(key: key, cache: cache, duration: Self.duration)
        // A registration that the server made is written although the caller is gone.
        let made = try await turn.run(outlivingCaller: true, known: known) { try await registration() }
        if let made { return made }
        throw context.error(
            .cacheBusy,
            "Another process has been registering this program at \(authority.url) for too long. Try again."
        )
    }

    /// The registration in the cache, if it can be used.
    func known() async throws -> ClientRegistration? {
        guard let record = try await cache.record(for: key), let json = try? JSONObject(parsing: record.bytes),
            let response = try? ClientRegistrationResponse(json),  // a damaged one is made anew
            response.secretExpiresOn.map({ $0 > clock.unixSeconds }) != false,
            refused.map({ !WireText.areSame($0.rawValue, response.clientID) }) != false
        else { return nil }
        // A program whose ports changed registers them.
        return try? value(of: response)
    }

    /// The program by its metadata document, if the server takes that.
    private func byDocument(_ document: String) async throws -> ClientRegistration? {
        let document = try ClientSoftware.checked(document: document)
        let metadata = try await metadata()
        guard metadata.takesClientIDMetadataDocument else { return nil }
        return try ClientRegistration(document: ClientID(rawValue: document), of: software, at: authority, group: group)
    }

    /// Registers, under the lease, unless another process has done so.
    private func registration() async throws -> ClientRegistration {
        if let known = try await known() { return known }
        let metadata = try await metadata()
        guard let endpoint = metadata.registrationEndpoint else {
            throw context.error(
                .clientNotRegistered,
                "\(authority.url) registers no program by itself. Ask who runs it to register a \(byHand)"
            )
        }
        let response = try await register(at: endpoint, metadata)
        let registration = try value(of: response)
        let record = CacheRecord(bytes: response.json.serialized())
        for _ in 0..<3 {
            if try await cache.replace(cache.record(for: key), with: record, for: key) { return registration }
        }
        throw context.error(
            .cacheBusy,
            "The registration could not be stored, because other processes kept writing. Try again."
        )
    }

    /// Sends the request, and once more in the form that a refusal asks for: with fixed ports, with the other loopback address,
    /// without what no server needs.
    private func register(at endpoint: String, _ metadata: ProviderMetadata) async throws -> ClientRegistrationResponse
    {
        var redirects = [
            software.redirectURIs, software.fixedRedirectURIs(.ipv4), software.fixedRedirectURIs(.ipv6),
        ][...]
        var isShort = false
        var grants = [GrantType.authorizationCode, .refreshToken].map(\.rawValue)
        if metadata.deviceAuthorizationEndpoint != nil { grants.append(GrantType.deviceCode.rawValue) }
        while let uris = redirects.first {
            let message = ClientRegistrationMessage(
                name: software.name,
                softwareID: software.id,
                softwareVersion: software.version,
                redirectURIs: uris,
                grantTypes: grants,
                // One registration is for all resources of the server.
                scopes: metadata.scopes ?? []
            )
            let (response, body) = try await client.post(
                json: message.json(isShort: isShort),
                to: endpoint,
                bearer: software.initialAccessToken,
                context: context,
                authority: authority
            )
            let status = response.status.code
            if status == 201 || status == 200 {
                do {
                    var answer = try ClientRegistrationResponse(JSONObject(received: body))
                    answer.redirectURIs = answer.redirectURIs ?? uris
                    return answer
                } catch {
                    throw context.error(
                        .malformedResponse,
                        "The answer of \(authority.base.host) to the registration cannot be used: \(error). Tell who runs it."
                    )
                }
            }
            let words = (try? JSONObject(received: body)).flatMap(ErrorResponse.init)  // often there is no body
            switch words?.error {
            case "invalid_redirect_uri" where redirects.count > 1: redirects = redirects.dropFirst()
            case "invalid_client_metadata" where !isShort: isShort = true
            default: throw refusal(words, response.status.code, response.retryAfter(now: clock.unixSeconds))
            }
        }
        throw refusal(nil, 400, nil)
    }

    private func refusal(_ words: ErrorResponse?, _ status: Int, _ retryAfter: Duration?) -> AuthenticationError {
        let server = ServerError(words, status: status)
        if status >= 500 || status == 408 || status == 429 {
            return context.error(
                status == 429 ? .throttled : .serverUnavailable,
                "\(authority.base.host) cannot register the program now (\(status)). Try again later.",
                serverError: server,
                retryAfter: retryAfter
            )
        }
        let why =
            status == 401 || status == 403
            ? "demands an initial access token for that" : "refused it (\(words?.error ?? String(status)))"
        return context.error(
            .clientNotRegistered,
            "The program asked \(authority.url) to register it, which \(why). Ask who runs it for that, or to register a \(byHand)",
            serverError: server
        )
    }

    /// The client for a person to register.
    private var byHand: String {
        "public native client with the redirect URIs \(software.redirectURIs.joined(separator: ", ")), and give its client id."
    }

    /// - Throws: `.invalidResponse` if the server registered another client than was asked for.
    private func value(of response: ClientRegistrationResponse) throws -> ClientRegistration {
        let place: ClientCredentials.Place?
        switch response.authMethod {
        case "client_secret_basic": place = .header
        case "client_secret_post": place = .form
        case nil, "none": place = nil
        case let method?:
            throw context.error(
                .unsupported,
                "\(authority.url) registered the program for \(WireText.clean(method).prefix(50)), which it cannot do."
            )
        }
        guard let redirectURI = try redirectURI(among: response.redirectURIs ?? software.redirectURIs) else {
            throw context.error(
                .invalidResponse,
                "\(authority.url) registered other redirect URIs than were asked for. Signing in there is not safe."
            )
        }
        return ClientRegistration(
            authority: authority,
            clientID: ClientID(rawValue: response.clientID),
            // Some servers give a secret and say that it is not used.
            clientSecret: response.authMethod == "none" ? nil : response.clientSecret.map(ClientSecret.init(rawValue:)),
            secretExpiresOn: response.secretExpiresOn.map { Date(timeIntervalSince1970: Double($0)) },
            redirectURI: redirectURI,
            group: group,
            secretPlace: place
        )
    }

    /// The address to which the browser returns: with the fixed ports if they are registered, otherwise with any.
    private func redirectURI(among registered: [String]) throws -> RedirectURI? {
        func has(_ uri: String) -> Bool { registered.contains { WireText.areSame($0, uri) } }
        for host in [RedirectURI.LoopbackHost.ipv4, .ipv6] {
            if software.fixedRedirectURIs(host).allSatisfy(has) { return try software.redirectURI(on: host) }
            if has(ClientSoftware.redirectURI(host, nil)) {
                return try software.redirectURI(on: host, hasFixedPort: false)
            }
        }
        return nil
    }
}
