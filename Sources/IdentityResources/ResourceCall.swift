// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Logging
import OAuthWire
import SystemSupport

/// A call of a resource, from the request to the answer for the program.
package struct ResourceCall: Sendable {
    private let client: AuthenticatedClient

    init(_ client: AuthenticatedClient) {
        self.client = client
    }

    /// As often as the person signs in for one call.
    private static let maximumSignIns = 3

    /// The times at which a call may sign in.
    package enum SignIns: Sendable {
        case always
        /// Not after a refused token, whose answer is delivered.
        case exceptAfterRefusal
        case never
    }

    /// Returns what `reading` makes of the answer. If a person is needed and the client signs in, the call is repeated after that.
    ///
    /// - Parameters:
    ///   - limit: The time for each attempt, in which `reading` is part and the person's time is not.
    ///   - allowed: The times at which the client may sign in.
    /// - Throws: `DeadlineExceeded`; the errors of `AuthenticatedClient.send`.
    func run<Answer: Sendable>(
        _ request: HTTPRequest,
        _ body: RequestBody?,
        _ meter: ProgressMeter? = nil,
        within limit: Duration? = nil,
        signingIn allowed: SignIns = .always,
        reading: @escaping @Sendable (any TransportExchange) async throws -> Answer
    ) async throws -> Answer {
        var (signIns, canBeRefused) = (0, false)
        while true {
            let signIn = signIns < Self.maximumSignIns && allowed != .never ? client.signIn : nil
            let delivers = signIn == nil || canBeRefused || allowed == .exceptAfterRefusal
            let attempt = { @Sendable () async throws -> Answer in
                let exchange = try await answer(to: request, body, meter)
                guard delivers || exchange.response.status != .unauthorized else {
                    await exchange.drainIfShort()
                    throw RefusedToken()
                }
                return try await reading(exchange)
            }
            do {
                guard let limit else { return try await attempt() }
                return try await withDeadline(limit, attempt)
            } catch let refusal as RefusedToken {
                canBeRefused = true
                let text = "\(request.authority ?? "The API") does not accept the tokens of this sign-in any more."
                try await signIn?(AuthenticationError(.loginRequired, text, underlyingError: refusal))
            } catch let error as AuthenticationError where .interactionRequired ~= error.code {
                guard let signIn else { throw error }
                try await signIn(error)
            }
            signIns += 1
        }
    }

    /// Returns the answer, whose body is still arriving.
    private func answer(
        to request: HTTPRequest,
        _ body: RequestBody?,
        _ meter: ProgressMeter?
    ) async throws -> any TransportExchange {
        var (route, body) = (try ResourceRoute(request.describing(body), reach: client.reach), body)
        var token = try await client.tokens.current()
        var history = ResourceDecision.History(sentToken: true, isTokenNew: token.source == .identityProvider)
        history.granted = client.claimed(by: token)
        history.isIdempotent = route.request.method.isIdempotent
        let clock = client.application.configuration.clock
        while true {
            try Task.checkCancellation()
            history.sentToken = route.carriesToken
            history.scheme = token.scheme
            let exchange = try await open(route, token, body, meter)
            note("A resource answered", route, at: .trace, ["http.status": "\(exchange.response.status.code)"])
            if route.carriesToken, token.scheme != .bearer {
                client.nonces.note(exchange.response, from: route.address.origin, by: clock)
            }
            if let next = try route.following(exchange.response) {
                await exchange.drainIfShort()
                if next.address.origin != route.address.origin { body = nil }
                route = next
                continue
            }
            let decision = ResourceDecision(
                exchange.response,
                after: history,
                waitLimit: client.timeout,
                now: clock.unixSeconds
            )
            switch decision {
            case .deliver:
                return exchange
            case .renew(let claims):
                await exchange.drainIfShort()
                note("A resource refused the token", route, at: .debug)
                token = try await client.tokens.renewed(token, claims: claims)
                history.hasRenewed = true
            case .signAgain:
                await exchange.drainIfShort()
                note("A resource demands its nonce", route, at: .debug)
                history.hasAnsweredNonce = true
            case .askPerson(let claims):
                throw AuthenticationError(
                    .claimsChallenge,
                    "\(route.address.host) demands more of the sign-in: sign in interactively with this error's claims.",
                    claims: claims
                )
            case .stepUp(let challenge, let demands):
                await exchange.drainIfShort()
                note("A resource demands more of the sign-in", route, at: .debug)
                let newer = try await client.tokens.current()
                guard newer.accessToken != token.accessToken, history.repeated.insert(demands).inserted else {
                    throw AuthenticationError(
                        challenge,
                        demands,
                        beyond: token.scopes,
                        status: exchange.response.status.code,
                        at: route.address.host
                    )
                }
                token = newer
                history.granted = client.claimed(by: newer)
            case .wait(let duration):
                await exchange.drainIfShort()
                note("A resource asks to wait", route, at: .debug, ["identity.wait": "\(duration)"])
                history.waits += 1
                history.waited += duration
                client.onWait?(route.address.host, duration)
                try await clock.sleep(for: duration)
            }
        }
    }

    /// The query of the address is not logged: it may be a key, for example in an address that a storage service
    /// signed.
    private func note(
        _ message: Logger.Message,
        _ route: ResourceRoute,
        at level: Logger.Level,
        _ details: Logger.Metadata = [:]
    ) {
        let logger = client.application.configuration.logger ?? .current
        let place: Logger.Metadata = [
            "http.method": "\(route.request.method)", "identity.address": "\(route.address.withoutQuery)",
        ]
        logger.log(level: level, message, metadata: place.merging(details) { $1 })
    }

    private func open(
        _ route: ResourceRoute,
        _ token: AuthenticationResult,
        _ body: RequestBody?,
        _ meter: ProgressMeter?
    ) async throws -> any TransportExchange {
        var request = route.request
        if route.carriesToken {
            let (origin, clock) = (route.address.origin, client.application.configuration.clock)
            // A PoP proof has our own time, as Microsoft's libraries do it.
            let now = token.scheme == .dpop ? client.nonces.now(at: origin, by: clock) : clock.unixSeconds
            let nonce = token.scheme == .bearer ? nil : client.nonces.nonce(of: origin)
            try token.authorize(&request, nonce: nonce, at: now)
            // Of a resource's tokens, their acquisition asks, which knows who had the port at the sign-in.
            if client.application.configuration.authority.resource == nil {
                try LocalServers().check(route.address.text, acceptsUnlisted: true)
            }
        }
        var source: BodyReader?
        if let body { source = try await BodyReader.open(body, meter) }
        do {
            return try await client.transport.exchange(request.withUserAgent, body: source)
        } catch let error where !(error is AuthenticationError || error.isOfACancelledTask) {
            throw AuthenticationError(
                .network,
                "\(route.address.host) could not be reached. Try again; no new sign-in is needed.",
                underlyingError: error
            )
        }
    }
}

/// A renewed token was refused as well.
private struct RefusedToken: Error {}

extension AuthenticationError {
    /// Whether the API has refused a token that is no older than the call, so that a person is needed.
    package var isOfRefusedToken: Bool { underlyingError is RefusedToken }

    /// The error for an API's demands, with the API's words.
    ///
    /// - Parameter granted: The scopes of the refused token, which the next token keeps.
    fileprivate init(
        _ challenge: AuthenticationChallenge,
        _ demands: ResourceChallenge,
        beyond granted: Set<Scope>,
        status: Int,
        at host: String
    ) {
        var (code, need) = (Code.insufficientUserAuthentication, "a newer or another kind of authentication")
        if challenge.error == "insufficient_scope" {
            // A token need not have what it claims.
            let lacking = demands.scopes.subtracting(granted)
            let missing = (lacking.isEmpty ? demands.scopes : lacking).map(\.rawValue).sorted()
            (code, need) = (.insufficientScope, "scopes that the token lacks: \(missing.joined(separator: ", "))")
        }
        var demands = demands
        if !demands.scopes.isEmpty { demands.scopes.formUnion(granted) }
        self.init(
            code,
            "\(host) demands \(need). A person has to sign in anew.",
            serverError: ServerError(
                error: challenge.error ?? "",
                errorDescription: challenge.parameters["error_description"].map(WireText.clean),
                errorURI: challenge.parameters["error_uri"].map(WireText.clean),
                httpStatus: status
            ),
            challenge: demands
        )
    }
}

extension TransportExchange {
    /// Reads the body of an unused answer, if it is short, so that the connection can be reused.
    fileprivate func drainIfShort() async {
        guard let length = response.contentLength, length <= 64 << 10 else { return }
        // Every failure is ignored, because the answer is unused.
        _ = try? await wholeBody(atMost: 64 << 10)
    }
}

extension HTTPRequest.Method {
    /// - SeeAlso: [RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)
    fileprivate var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options, .trace].contains(self)
    }
}

extension HTTPRequest {
    /// Returns the request with the body's type, unless the request names a type.
    fileprivate func describing(_ body: RequestBody?) -> HTTPRequest {
        guard let type = body?.contentType, headerFields[.contentType] == nil else { return self }
        var request = self
        request.headerFields[.contentType] = type
        return request
    }
}
