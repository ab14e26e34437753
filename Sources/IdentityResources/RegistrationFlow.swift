// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
package import IdentityClient
import OAuthWire
import SystemSupport

/// Finds the registration of a program, or makes it once for all processes.
struct RegistrationFlow: Sendable {
    let software: ClientSoftware
    let authority: Authority
    let cache: any TokenCache
    let group: CacheGroup
    let client: EndpointClient
    let clock: any WallClock
    var scopes: Set<Scope> = []
    var refused: ClientID?
    let context = RequestContext(correlationID: nil, logger: nil)

    init(
        _ software: ClientSoftware,
        _ authority: Authority,
        _ cache: any TokenCache,
        _ group: CacheGroup?,
        _ transport: any HTTPTransport = CurlTransport(),
        _ clock: any WallClock = SystemClock()
    ) {
        self.software = software
        self.authority = authority
        self.cache = cache
        self.group = group ?? software.group
        self.clock = clock
        client = EndpointClient(transport: transport)
    }

    private func metadata() async throws -> ProviderMetadata {
        try await ProviderMetadata.read(of: authority, over: client, cache: cache, group: group, clock: clock, context)
    }

    /// The longest lease. It outlasts five requests.
    private static let duration = Duration.seconds(100)

    func run() async throws -> ClientRegistration {
        if let document = software.metadataDocument, let known = try await byDocument(document) { return known }
        if let known = try await known() { return known }
        let turn = SharedTurn(key: key, cache: cache, duration: Self.duration)
        // A registration that the server made is written although the caller is gone.
        let made = try await turn.run(outlivingCaller: true, known: self.known) { try await registration() }
        if let made { return made }
        throw context.error(
            .cacheBusy,
            "Another process has been registering this program at \(authority.url) for too long. Try again."
        )
    }

    /// The program by its metadata document, if the server takes that.
    private func byDocument(_ document: String) async throws -> ClientRegistration? {
        let document = try ClientSoftware.checked(document: document)
        guard try await metadata().prefersMetadataDocument else { return nil }
        return try ClientRegistration(
            unregistered: ClientID(rawValue: document),
            of: software,
            at: authority,
            group: group
        )
    }

    /// Registers, under the lease, unless another process has done so.
    private func registration() async throws -> ClientRegistration {
        if let known = try await known() { return known }
        let metadata = try await metadata()
        guard let endpoint = metadata.registrationEndpoint else { throw registersNone }
        let response = try await register(at: endpoint, metadata)
        let registration = try value(of: response)
        try await store(response)
        return registration
    }

    /// Sends the request, and again in the forms that a refusal asks for: with fixed ports, with the other loopback address,
    /// without what no server needs.
    private func register(at endpoint: String, _ metadata: ProviderMetadata) async throws -> ClientRegistrationResponse
    {
        let path = RedirectPath.of(authority.url)
        var redirects = [
            software.redirectURIs(path), software.fixedRedirectURIs(.ipv4, path),
            software.fixedRedirectURIs(.ipv6, path),
        ][...]
        var isShort = false
        while let uris = redirects.first {
            let (response, body) = try await client.post(
                json: message(uris, metadata).json(isShort: isShort),
                to: endpoint,
                bearer: software.initialAccessTokens.first { WireText.areSame($0.key, authority.url) }?.value,
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
            let isOfRedirects = words?.error == "invalid_redirect_uri"
            // Servers say in many ways that they do not like a request; one that names a scope may say it with 403.
            let isOfRequest = [400, 422].contains(status) || words?.error == "insufficient_scope"
            if isOfRequest, !isShort, !isOfRedirects {
                isShort = true
            } else if isOfRequest, redirects.count > 1 {
                redirects = redirects.dropFirst()
            } else {
                throw refusal(words, status, response.retryAfter(now: clock.unixSeconds))
            }
        }
        throw refusal(nil, 400, nil)
    }

    private func message(_ uris: [String], _ metadata: ProviderMetadata) -> ClientRegistrationMessage {
        var grants = [GrantType.authorizationCode, .refreshToken].map(\.rawValue)
        if metadata.deviceAuthorizationEndpoint != nil { grants.append(GrantType.deviceCode.rawValue) }
        var named = Set(scopes.map(\.rawValue))
        if !named.isEmpty, metadata.scopes?.contains("offline_access") == true { named.insert("offline_access") }
        return ClientRegistrationMessage(
            name: software.name,
            softwareID: software.id,
            softwareVersion: software.version,
            redirectURIs: uris,
            grantTypes: grants,
            scopes: named.sorted()
        )
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
        let asksForToken = status == 401 || status == 403 && [nil, "access_denied"].contains(words?.error)
        let why =
            asksForToken
            ? "demands an initial access token for that" : "refused it (\(words?.error ?? String(status)))"
        return context.error(
            .clientNotRegistered,
            "The program asked \(authority.url) to register it, which \(why). Ask who runs it for that, or to register a \(byHand)",
            serverError: server
        )
    }

    /// The error of a server without registrations.
    var registersNone: AuthenticationError {
        context.error(
            .clientNotRegistered,
            "\(authority.url) registers no program by itself. Ask who runs it to register a \(byHand)"
        )
    }

    /// The client for a person to register.
    private var byHand: String {
        "public native client with the redirect URIs \(software.redirectURIs.joined(separator: ", ")), and give its client id."
    }
}

extension AuthenticationError {
    /// The error of a refresh for a registered client that the server does not know any more: a person is needed.
    package init(forgottenAt authority: Authority, _ error: AuthenticationError) {
        self.init(
            .loginRequired,
            "\(authority.url) does not know this program's registration any more. A person has to sign in, for which it registers anew.",
            underlyingError: error
        )
    }

    /// Whether it is that error.
    package var isOfForgottenClient: Bool {
        guard case Code.clientNotRegistered? = underlyingError else { return false }
        return true
    }
}

// The records in the cache.
extension RegistrationFlow {
    /// One registration for an issuer, a program and a resource, whose scopes it has.
    private var key: CacheKey { key(["registration", authority.url, software.id, authority.resource ?? ""]) }

    /// One that was for all resources, as versions before this one made it.
    private var earlierKey: CacheKey { key(["registration", authority.url, software.id]) }

    /// One that a newer one has replaced, while a sign-in still uses it.
    private func key(of clientID: String) -> CacheKey {
        key(["replaced_registration", authority.url, software.id, authority.resource ?? "", clientID])
    }

    private func key(_ words: [String]) -> CacheKey {
        CacheKey(group: group, kind: .application, name: Digest.hexadecimal(of: words))
    }

    private func response(at key: CacheKey) async throws -> ClientRegistrationResponse? {
        guard let record = try await cache.record(for: key), let json = try? JSONObject(parsing: record.bytes) else {
            return nil
        }
        return try? ClientRegistrationResponse(json)  // a damaged one is made anew
    }

    /// The registration in the cache, if it can be used.
    func known() async throws -> ClientRegistration? {
        guard let response = try await response(at: key),
            response.secretExpiresOn.map({ $0 > clock.unixSeconds }) != false,
            refused.map({ !WireText.areSame($0.rawValue, response.clientID) }) != false
        else { return nil }
        // A program whose ports changed registers them.
        return try? value(of: response)
    }

    /// The registration with a client ID, which may also be an earlier one.
    func known(_ clientID: ClientID) async throws -> ClientRegistration? {
        for key in [key, key(of: clientID.rawValue), earlierKey] {
            if let found = try await response(at: key), WireText.areSame(found.clientID, clientID.rawValue) {
                return try value(of: found, path: key == earlierKey ? .byHand : .of(authority.url))
            }
        }
        return nil
    }

    /// Stores a new registration. The one before it stays, under its client ID, for the sign-in that uses it.
    private func store(_ response: ClientRegistrationResponse) async throws {
        let record = CacheRecord(bytes: response.json.serialized())
        for _ in 0..<3 {
            let old = try await cache.record(for: key)
            if let old, let replaced = try await self.response(at: key) {
                let place = key(of: replaced.clientID)
                _ = try await cache.replace(cache.record(for: place), with: old, for: place)
            }
            if try await cache.replace(old, with: record, for: key) { return }
        }
        throw context.error(
            .cacheBusy,
            "The registration could not be stored, because other processes kept writing. Try again."
        )
    }

    func forget() async throws -> Bool {
        var isFound = false
        for key in [key, earlierKey] {
            guard let record = try await cache.record(for: key) else { continue }
            isFound = try await cache.replace(record, with: nil, for: key) || isFound
        }
        return isFound
    }

    func forget(_ clientID: ClientID) async throws {
        let key = key(of: clientID.rawValue)
        guard let record = try await cache.record(for: key) else { return }
        _ = try await cache.replace(record, with: nil, for: key)
    }
}

// What an answer means.
extension RegistrationFlow {
    /// - Throws: `.invalidResponse` if the server registered another client than was asked for.
    private func value(of response: ClientRegistrationResponse, path: RedirectPath? = nil) throws -> ClientRegistration
    {
        let path = path ?? .of(authority.url)
        let place: ClientCredentials.Place?
        switch response.authMethod {
        case "client_secret_basic": place = .header
        case "client_secret_post": place = .form
        case nil, "none": place = nil
        case let method?:
            throw context.error(
                .unsupported,
                "\(authority.url) registered the program for \(WireText.quoted(method, upTo: 50)), which it cannot do."
            )
        }
        let registered = response.redirectURIs ?? software.redirectURIs(path)
        guard let (redirectURI, takesAnyPort) = try redirectURI(path, among: registered) else {
            throw context.error(
                .invalidResponse,
                "\(authority.url) registered other redirect URIs than were asked for. Signing in there is not safe."
            )
        }
        var registration = ClientRegistration(
            authority: authority,
            clientID: ClientID(rawValue: response.clientID),
            // Some servers give a secret and say that it is not used.
            clientSecret: response.authMethod == "none" ? nil : response.clientSecret.map(ClientSecret.init(rawValue:)),
            secretExpiresOn: response.secretExpiresOn.map { Date(timeIntervalSince1970: Double($0)) },
            redirectURI: redirectURI,
            group: group,
            secretPlace: place
        )
        registration.takesAnyPort = takesAnyPort
        return registration
    }

    /// The address to which the browser returns, with the fixed ports if they are registered and otherwise with any, and whether
    /// the address is registered without a port.
    private func redirectURI(_ path: RedirectPath, among registered: [String]) throws -> (RedirectURI, Bool)? {
        func has(_ uri: String) -> Bool { registered.contains { WireText.areSame($0, uri) } }
        for host in [RedirectURI.LoopbackHost.ipv4, .ipv6] {
            let isPortless = has(ClientSoftware.redirectURI(host, nil, path))
            let isFixed = software.fixedRedirectURIs(host, path).allSatisfy(has)
            guard isFixed || isPortless else { continue }
            return (try software.redirectURI(path, on: host, hasFixedPort: isFixed), isPortless)
        }
        return nil
    }
}
