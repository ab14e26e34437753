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

    /// When the secret ends. Then ``obtain(of:at:scopes:cache:group:transport:clock:replacing:)`` registers anew. `nil` if it does not.
    public let secretExpiresOn: Date?

    /// The address to which the browser returns.
    public let redirectURI: RedirectURI

    /// The group of the registration and of its tokens.
    public let group: CacheGroup

    package let secretPlace: ClientCredentials.Place?

    /// Whether the redirect address is known to the server without a port as well, so that any port should pass.
    package var takesAnyPort = true

    /// Returns a configuration with the registration's client, and everything else by default.
    ///
    /// - Parameter cache: The cache of the registration.
    public func configuration(cache: any TokenCache) -> ClientConfiguration {
        var configuration = ClientConfiguration(clientID: clientID, authority: authority, cache: cache)
        configuration.clientSecret = clientSecret
        configuration.clientSecretPlace = secretPlace
        configuration.redirectURI = redirectURI
        configuration.redirectReceiver = WaitingRedirectReceiver(takesAnyPort: takesAnyPort)
        configuration.cacheGroup = group
        return configuration
    }
}

extension ClientRegistration {
    /// Returns the program's registration at a server. If there is none yet, the program is registered.
    ///
    /// There is one for each server and resource. A server that takes the program's metadata document, and names itself in its
    /// answers (RFC 9207), gets no request. Otherwise the registration of the cache is returned without a request to the server.
    /// A lease keeps several processes from registering at the same time: one registers, and the others wait for its result, for
    /// 100 s at most.
    ///
    /// A registered client's redirect address is for this server alone: its path has a digest of the issuer. Ask the person before
    /// you call this for a server that an API has named.
    ///
    /// ```swift
    /// do {
    ///     registration = try await ClientRegistration.obtain(of: software, at: authority, cache: cache)
    /// } catch let error as AuthenticationError where error.code == . {
    ///     show(error.message)  // what to register by hand
    /// }
    /// ```
    /// - Parameters:
    ///   - software: The program.
    ///   - authority: The server, with or without a resource.
    ///   - scopes: The scopes that the program will ask for. Empty, the default, leaves them to the server.
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
        scopes: Set<Scope> = [],
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
        var flow = RegistrationFlow(software, authority, cache, group, transport, clock)
        (flow.scopes, flow.refused) = (scopes, refused)
        return try await flow.run()
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
        try await RegistrationFlow(software, authority, cache, group).known()
    }

    /// Returns the registration with this client ID, also one that a newer one has replaced.
    package static func kept(
        _ clientID: ClientID,
        of software: ClientSoftware,
        at authority: Authority,
        cache: any TokenCache
    ) async throws -> ClientRegistration? {
        try await RegistrationFlow(software, authority, cache, nil).known(clientID)
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
        try await RegistrationFlow(software, authority, cache, group).forget()
    }

    /// Forgets a registration that a newer one has replaced.
    package static func forget(
        _ clientID: ClientID,
        of software: ClientSoftware,
        at authority: Authority,
        cache: any TokenCache
    ) async throws {
        try await RegistrationFlow(software, authority, cache, nil).forget(clientID)
    }

    /// The program by a client ID that no registration gave: of its metadata document, or of a client that was registered by hand.
    /// The server is not asked whether it takes that.
    package init(
        unregistered clientID: ClientID,
        of software: ClientSoftware,
        at authority: Authority,
        group: CacheGroup? = nil
    ) throws {
        self.init(
            authority: authority,
            clientID: clientID,
            clientSecret: nil,
            secretExpiresOn: nil,
            redirectURI: try software.redirectURI(),
            group: group ?? software.group,
            secretPlace: nil
        )
    }
}
