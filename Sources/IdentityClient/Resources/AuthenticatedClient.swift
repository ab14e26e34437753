// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

/// Calls a resource (an API) on behalf of an account.
///
/// It acquires the access token silently and sends it as `Authorization: Bearer`. An answer of 401 is tried once more
/// with a renewed token, or with one that meets the answer's claims challenge. Redirects of `GET` and `HEAD` are
/// followed, without the token once they lead to another scheme, host or port, and never from https to http. An answer
/// of 429 or 503 with `Retry-After` is waited for, where the method is idempotent. Every other answer is given back as it came, whatever its status.
///
/// ```swift
/// let graph = AuthenticatedClient(application: app, account: account, scopes: ["User.Read"])
/// let (response, body) = try await graph.get(me)
/// ```
///
/// The token goes to whichever address a request names, if it is https, or http on this computer itself: name none that
/// is not yours to trust. Keep one object for an account and its scopes; calls at the same time share what they can.
public final class AuthenticatedClient: Sendable {
    /// Who acquires the tokens.
    public let application: PublicClientApplication

    /// On whose behalf it calls.
    public let account: Account

    /// The scopes the token has.
    public let scopes: Set<Scope>

    let tokens: ResourceTokens
    let transport: any HTTPTransport
    let timeout: Duration
    let maximumResponseBytes: Int

    /// Makes a client. No network, no files.
    ///
    /// - Parameters:
    ///   - application: Who acquires the tokens.
    ///   - account: On whose behalf; it came from a result, or from `allAccounts()`.
    ///   - scopes: Those of one resource.
    ///   - authority: Another authority of the same kind and cloud, a tenant or a B2C policy; `nil` means the
    ///     application's.
    ///   - transport: How requests are sent; `nil` means the application's transport. Streaming needs a
    ///     ``StreamingHTTPTransport``, such as ``CurlTransport``.
    ///   - timeout: The most that one call may take in all, the waits that a server asks for included. For transfers
    ///     it bounds these waits alone. One minute unless given.
    ///   - maximumResponseBytes: The largest body that is given back in memory; 16 MiB unless given, and above it
    ///     `.responseTooLarge`.
    public init(
        application: PublicClientApplication,
        account: Account,
        scopes: Set<Scope>,
        authority: Authority? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(60),
        maximumResponseBytes: Int = 16 << 20
    ) {
        self.application = application
        self.account = account
        self.scopes = scopes
        self.transport = transport ?? application.configuration.transport
        self.timeout = timeout
        self.maximumResponseBytes = max(0, maximumResponseBytes)
        tokens = ResourceTokens(
            application: application,
            parameters: SilentParameters(scopes: scopes, account: account, authority: authority)
        )
    }

    /// Sends `request`, and gives the whole answer, whatever its status.
    ///
    /// Fields that frame the message, and `Authorization`, are the client's to set. Cancelling the task ends the call
    /// at once.
    /// - Throws: `AuthenticationError.interactionRequired` when a person is needed, with the `claims` to pass on where
    ///   the resource made a claims challenge; everything else that `acquireTokenSilently(_:)` throws; `.network` when
    ///   no answer came, or not in time; `.unexpectedRedirect` where a redirect is not followed; `.responseTooLarge`;
    ///   `.fileUnavailable` when a file of the body cannot be read; `CancellationError`.
    public func send(
        _ request: HTTPRequest,
        body: RequestBody? = nil
    ) async throws -> (response: HTTPResponse, body: [UInt8]) {
        let client = self
        do {
            return try await withDeadline(timeout) {
                let exchange = try await ResourceCall(client).run(request, body)
                return (exchange.response, try await exchange.wholeBody(atMost: client.maximumResponseBytes))
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .networkTimedOut,
                "The resource did not answer in time. Try again, or allow more time."
            )
        }
    }

    /// Sends a `GET` that accepts JSON, and gives the whole answer, whatever its status.
    ///
    /// - Throws: As ``send(_:body:)``.
    public func get(_ url: URL) async throws -> (response: HTTPResponse, body: [UInt8]) {
        try await send(.json(url))
    }
}

extension HTTPRequest {
    /// What ``AuthenticatedClient/get(_:)`` and the pages send.
    static func json(_ url: URL) -> HTTPRequest {
        HTTPRequest(.get, to: url, headerFields: [.accept: "application/json"])
    }
}

extension HTTPExchange {
    /// All that is left of the body.
    ///
    /// - Throws: `.responseTooLarge` above `limit`.
    func wholeBody(atMost limit: Int) async throws -> [UInt8] {
        var body: [UInt8] = []
        while let piece = try await next() {
            guard piece.count <= limit - body.count else {
                throw AuthenticationError(
                    .responseTooLarge,
                    "The resource answered with more than \(limit) bytes, which is refused. Download it instead."
                )
            }
            body += piece
        }
        return body
    }
}
