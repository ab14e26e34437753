// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import IdentityClient
package import OAuthWire
import Synchronization
import SystemSupport

/// A client that calls a resource (an API) on behalf of an account.
///
/// It acquires the access token silently and sends it as `Authorization: Bearer`, or signs each request
/// (`AuthenticationScheme.pop`). After an answer of 401, the request
/// is sent once more with a renewed token, or with a token that meets the answer's claims challenge. Redirects of `GET`
/// and `HEAD` are followed, without the token once they lead to another scheme, host or port, and never from https to
/// http. After an answer of 429 or 503 with `Retry-After`, the client waits and repeats the request, if the method is
/// idempotent. Every other answer is returned unchanged, whatever its status.
///
/// ```swift
/// let graph = AuthenticatedClient(application: app, account: account, scopes: ["User.Read"])
/// let (response, body) = try await graph.get(me)
/// ```
///
/// The token goes to one origin: that of the first request, which is https, or http on this computer itself. A client of a
/// ``ProtectedResource`` sends it to the resource's own addresses only. Keep one object for an account and its scopes at an
/// API; concurrent calls share token requests.
public final class AuthenticatedClient: Sendable {
    /// The application object that acquires the tokens.
    public let application: PublicClientApplication

    /// The account on whose behalf the client calls.
    public let account: Account

    /// The scopes of the token.
    public let scopes: Set<Scope>

    /// The way in which requests show the token.
    public let scheme: AuthenticationScheme

    let tokens: ResourceTokens
    let nonces = ServerNonces()
    let transport: any HTTPTransport
    let timeout: Duration
    let maximumResponseBytes: Int
    let onWait: (@Sendable (_ host: String, _ duration: Duration) -> Void)?
    /// Signs in for an error that asks for a person; `nil` if the program does.
    let signIn: (@Sendable (AuthenticationError) async throws -> Void)?
    private let believesClaimedScopes: Bool
    /// Where the token goes: the resource, or the origin of the first request.
    private let place: Mutex<WebAddress?>

    /// Creates a client, without network or file access.
    ///
    /// - Parameters:
    ///   - application: The application that acquires the tokens.
    ///   - account: The account on whose behalf calls are made, from a result or from `allAccounts()`.
    ///   - scopes: The scopes of one resource.
    ///   - authority: Another authority of the same kind and cloud, a tenant or a B2C policy; `nil` means the
    ///     application's.
    ///   - scheme: How requests show the token. With `.pop`, each one is signed, and signed once more with the API's nonce
    ///     if the API demands one. `.bearer` unless given.
    ///   - transport: How requests are sent; `nil` means the application's transport. Streaming needs a
    ///     `StreamingHTTPTransport`, such as `CurlTransport`.
    ///   - timeout: The most that one call may take in all, the waits that a server asks for included. For transfers
    ///     it bounds these waits alone. One minute unless given.
    ///   - maximumResponseBytes: The largest body that is given back in memory; 16 MiB unless given, and above it
    ///     `.malformedResponse`.
    public convenience init(
        application: PublicClientApplication,
        account: Account,
        scopes: Set<Scope>,
        authority: Authority? = nil,
        scheme: AuthenticationScheme = .bearer,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(60),
        maximumResponseBytes: Int = 16 << 20
    ) {
        self.init(
            application: application,
            account: account,
            scopes: scopes,
            authority: authority,
            transport: transport,
            timeout: timeout,
            maximumResponseBytes: maximumResponseBytes,
            scheme: scheme,
            onWait: nil
        )
    }

    /// Creates a client of a protected resource, without network or file access. The token goes to the resource's address and
    /// below it, by whole segments of the path, and nowhere else.
    ///
    /// ```swift
    /// let resource = try await ProtectedResource.discover(at: "https://api.example.com/mcp")
    /// let client = try AuthenticatedClient(application: app, account: account, resource: resource)
    /// ```
    /// - Parameters:
    ///   - application: An application whose authority is for the resource (``ProtectedResource/authority(issuer:assumesPKCE:)``).
    ///   - account: The account on whose behalf calls are made.
    ///   - resource: The resource.
    ///   - scopes: The scopes of the token; `nil`, the default, means the resource's.
    ///   - transport: How requests are sent; `nil` means the application's transport.
    ///   - timeout: The most that one call may take in all. One minute unless given.
    ///   - maximumResponseBytes: The largest body that is given back in memory; 16 MiB unless given.
    /// - Throws: `.invalidArgument` if the application's authority is not for the resource, or the configuration's `dpop` is not
    ///   `.required` although the resource takes bound tokens only. A call throws `.invalidTarget` if the token names other
    ///   addresses than the resource or one above it.
    public convenience init(
        application: PublicClientApplication,
        account: Account,
        resource: ProtectedResource,
        scopes: Set<Scope>? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(60),
        maximumResponseBytes: Int = 16 << 20
    ) throws {
        guard let place = WebAddress(resource.place),
            application.configuration.authority.resource.map({ WireText.areSame($0, resource.identifier) }) == true
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The application's authority is not for \(resource.identifier): make it with the resource's authority(issuer:)."
            )
        }
        guard !resource.requiresDPoP || application.configuration.dpop == .required else {
            throw AuthenticationError(
                .invalidArgument,
                "\(resource.identifier) takes only tokens that are bound to a key (DPoP). Set the configuration's dpop to .required."
            )
        }
        self.init(
            application: application,
            account: account,
            scopes: scopes ?? resource.scopes,
            transport: transport,
            timeout: timeout,
            maximumResponseBytes: maximumResponseBytes,
            place: place,
            acquire: {
                let result = try await application.acquireTokenSilently($0)
                try TokenAudience.check(result.accessToken, for: resource.identifier)
                return result
            },
            onWait: nil
        )
    }

    /// The same, which tells when a server asks to wait, and how long.
    ///
    /// - Parameters:
    ///   - acquire: Acquires the tokens in place of the application, which then gives the clock and the logger.
    ///   - signIn: Signs in for an error that asks for a person, after which the call is repeated.
    ///   - believesClaimedScopes: Whether an API that demands scopes of a token that claims to have them is not signed in to
    ///     again. `false` for tokens that `signIn` may get without a person: a server need not say which scopes it gave at a
    ///     refresh.
    package init(
        application: PublicClientApplication,
        account: Account,
        scopes: Set<Scope>,
        authority: Authority? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration,
        maximumResponseBytes: Int = 16 << 20,
        scheme: AuthenticationScheme = .bearer,
        place: WebAddress? = nil,
        acquire: (@Sendable (SilentParameters) async throws -> AuthenticationResult)? = nil,
        signIn: (@Sendable (AuthenticationError) async throws -> Void)? = nil,
        believesClaimedScopes: Bool = true,
        onWait: (@Sendable (_ host: String, _ duration: Duration) -> Void)?
    ) {
        self.application = application
        self.account = account
        self.scopes = scopes
        self.transport = transport ?? application.configuration.transport
        self.timeout = timeout
        self.maximumResponseBytes = max(0, maximumResponseBytes)
        self.scheme = scheme
        self.onWait = onWait
        self.signIn = signIn
        self.believesClaimedScopes = believesClaimedScopes
        self.place = Mutex(place)
        var parameters = SilentParameters(scopes: scopes, account: account, authority: authority)
        parameters.scheme = scheme
        tokens = ResourceTokens(
            parameters,
            acquire: acquire ?? { try await application.acquireTokenSilently($0) }
        )
    }

    /// The scopes that a token need not be had anew for.
    func claimed(by token: AuthenticationResult) -> Set<Scope> { believesClaimedScopes ? token.scopes : [] }

    /// Returns where the token goes.
    ///
    /// - Throws: `.invalidArgument` if that is not where a request is for.
    func reach(_ address: WebAddress) throws -> WebAddress {
        let place = place.withLock { place in
            let known = place ?? address.root
            place = known
            return known
        }
        guard place.isAbove(address) else {
            throw AuthenticationError(
                .invalidArgument,
                """
                This client's token goes to \(place.text) only, and not to \(address.withoutQuery). Make another client for \
                another API.
                """
            )
        }
        return place
    }

    /// Sends `request`, and returns the whole answer, whatever its status.
    ///
    /// The client sets `Authorization` and the fields that frame the message. Cancelling the task ends the call at
    /// once.
    /// - Throws: `AuthenticationError` of the family `.interactionRequired` when a person is needed, with the `claims` to pass on if the
    ///   resource made a claims challenge, and with its `challenge` if it demands more scopes or another authentication:
    ///   `.insufficientScope`, `.insufficientUserAuthentication`; every other error of `acquireTokenSilently(_:)`; `.network` when no answer
    ///   came, or not in time; `.malformedResponse` when a redirect is not followed, and above the limit;
    ///   `.fileUnavailable` when a file of the body cannot be read; `.invalidArgument` when the address is none that the
    ///   token goes to; `CancellationError`.
    public func send(
        _ request: HTTPRequest,
        body: RequestBody? = nil
    ) async throws -> (response: HTTPResponse, body: [UInt8]) {
        let limit = maximumResponseBytes
        do {
            return try await ResourceCall(self).run(request, body, within: timeout) { exchange in
                (exchange.response, try await exchange.wholeBody(atMost: limit))
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .networkTimedOut,
                "The resource did not answer in time. Try again, or allow more time."
            )
        }
    }

    /// Sends a `GET` that accepts JSON, and returns the whole answer, whatever its status.
    ///
    /// - Throws: The errors of ``send(_:body:)``.
    public func get(_ url: URL) async throws -> (response: HTTPResponse, body: [UInt8]) {
        try await send(.json(url))
    }

    /// Sends `request`, and returns the answer as soon as its head has arrived; the body arrives piece by piece.
    ///
    /// The body's size is not limited, nor is the time it takes, as long as data arrives.
    /// - Throws: The errors of ``send(_:body:)``.
    public func stream(
        _ request: HTTPRequest,
        body: RequestBody? = nil
    ) async throws -> (response: HTTPResponse, body: ResponseBody) {
        try await stream(request, body: body, signingIn: .always)
    }

    /// The same, for a program that does not let the client sign in at any time.
    package func stream(
        _ request: HTTPRequest,
        body: RequestBody?,
        signingIn allowed: ResourceCall.SignIns
    ) async throws -> (response: HTTPResponse, body: ResponseBody) {
        try await ResourceCall(self).run(request, body, signingIn: allowed) { ($0.response, ResponseBody($0)) }
    }
}

/// The access tokens of one client. Callers whose tokens were refused at the same time share one renewal.
final class ResourceTokens: Sendable {
    private struct Renewal: Hashable, Sendable {
        let refusedToken: String
        let claims: String?
    }

    private let acquire: @Sendable (SilentParameters) async throws -> AuthenticationResult
    private let parameters: SilentParameters
    private let renewals = SingleFlight<Renewal, AuthenticationResult>()
    /// The token that last met a claims challenge, and the claims.
    private let meeting = Mutex<Renewal?>(nil)

    init(
        _ parameters: SilentParameters,
        acquire: @escaping @Sendable (SilentParameters) async throws -> AuthenticationResult
    ) {
        self.acquire = acquire
        self.parameters = parameters
    }

    func current() async throws -> AuthenticationResult {
        try await acquire(parameters)
    }

    /// Returns a token other than the refused token. It meets `claims` if there are any.
    ///
    /// - Throws: The errors of `acquireTokenSilently(_:)`; if a person is needed, with the claims.
    func renewed(_ refused: AuthenticationResult, claims: String?) async throws -> AuthenticationResult {
        let renewal = Renewal(refusedToken: refused.accessToken, claims: claims)
        do {
            return try await renewals.run(renewal) { try await self.renew(renewal) }
        } catch let error as AuthenticationError where .interactionRequired ~= error.code && error.claims == nil {
            throw error.demanding(claims)
        }
    }

    private func renew(_ renewal: Renewal) async throws -> AuthenticationResult {
        // Another caller may have renewed the token already.
        let current = try await current()
        if current.accessToken != renewal.refusedToken {
            let met = Renewal(refusedToken: current.accessToken, claims: renewal.claims)
            if renewal.claims == nil || meeting.withLock({ $0 }) == met { return current }
        }
        var parameters = parameters
        parameters.claims = renewal.claims
        // Another process may have renewed the token already, too.
        if renewal.claims == nil { parameters.refusedToken = renewal.refusedToken }
        let result = try await acquire(parameters)
        if let claims = renewal.claims {
            meeting.withLock { $0 = Renewal(refusedToken: result.accessToken, claims: claims) }
        }
        return result
    }
}

extension AuthenticationError {
    /// Returns the same error, with the claims that the next sign-in has to meet.
    fileprivate func demanding(_ claims: String?) -> AuthenticationError {
        AuthenticationError(
            code,
            message,
            serverError: serverError,
            claims: claims,
            challenge: challenge,
            retryAfter: retryAfter,
            correlationID: correlationID,
            underlyingError: underlyingError,
            timestamp: timestamp
        )
    }
}

extension HTTPRequest {
    /// Returns the request that ``AuthenticatedClient/get(_:)`` and the pages send.
    static func json(_ url: URL) -> HTTPRequest {
        HTTPRequest(.get, to: url, headerFields: [.accept: "application/json"])
    }
}

extension TransportExchange {
    /// Returns the rest of the body.
    ///
    /// - Throws: `.malformedResponse` above `limit`.
    package func wholeBody(atMost limit: Int) async throws -> [UInt8] {
        var body: [UInt8] = []
        while let piece = try await next() {
            guard piece.count <= limit - body.count else {
                throw AuthenticationError(
                    .malformedResponse,
                    "The resource answered with more than \(limit) bytes, which is refused. Download it instead."
                )
            }
            body += piece
        }
        return body
    }
}
