// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes
package import IdentityTelemetry
import Logging
package import OAuthWire
import SystemSupport

extension HTTPResponse {
    /// The wait that the server requests.
    ///
    /// - SeeAlso: [RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)
    package func retryAfter(now: Int64) -> Duration? {
        headerFields[.retryAfter].flatMap { RetryAfter.seconds($0, now: now) }.map { .seconds($0) }
    }

    /// The absolute address that the answer redirects to; `nil` if it is no redirect.
    ///
    /// - Parameter url: The address that was asked.
    /// - SeeAlso: [RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)
    func redirectTarget(from url: String) -> String? {
        guard [301, 302, 303, 307, 308].contains(status.code), let location = headerFields[.location] else {
            return nil
        }
        return URL(string: url).flatMap { URL(string: location, relativeTo: $0)?.absoluteURL.absoluteString }
    }

    /// The seconds for which the answer may be kept, if its sender says so.
    ///
    /// - SeeAlso: [RFC 9111 §5.2.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.2.1)
    var maximumAge: Int64? {
        let directives = headerFields[.cacheControl]?.lowercased().split(separator: ",") ?? []
        let ages = directives.map { $0.filter { !" \t\"".contains($0) } }.filter { $0.hasPrefix("max-age=") }
        return ages.first.flatMap { Int64($0.dropFirst("max-age=".count)) }
    }
}

/// An answer with more bytes than are read. Its beginning may have tokens, so that nothing shows it.
struct OversizedAnswer: Error, CustomStringConvertible, CustomReflectable {
    let response: HTTPResponse
    let beginning: [UInt8]

    var description: String { "an answer with too many bytes" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// Sends requests to a provider's endpoints through the replaceable transport, with a deadline.
package struct EndpointClient: Sendable {
    /// The maximum deadline that a program can set.
    static let maximumDeadline = CurlTransport.defaultTimeout

    let transport: any HTTPTransport
    /// The maximum time for one request.
    let deadline: Duration
    /// The program's own header fields. They replace none of the request's.
    let extraFields: [HTTPField]
    /// The client's credentials, if it has a secret.
    let credentials: ClientCredentials?
    /// The time of proofs.
    let clock: any WallClock
    /// The servers' newest nonces for proofs.
    let nonces = ServerNonces()
    let observer: (any ExchangeObserver)?
    let telemetry: (any Telemetry)?

    package init(
        transport: any HTTPTransport,
        deadline: Duration = .seconds(30),
        extraFields: [HTTPField] = [],
        credentials: ClientCredentials? = nil,
        clock: any WallClock = SystemClock(),
        observer: (any ExchangeObserver)? = nil,
        telemetry: (any Telemetry)? = nil
    ) {
        self.transport = transport
        self.deadline = deadline
        self.extraFields = extraFields
        self.credentials = credentials
        self.clock = clock
        self.observer = observer
        self.telemetry = telemetry
    }

    /// Fetches a document. The answer is unchecked.
    ///
    /// - Parameter bound: A token that is bound to a key, in place of `authorization`.
    package func get(
        _ url: String,
        authorization: String? = nil,
        with bound: (token: String, key: DPoPKey)? = nil,
        accept: String = "application/json",
        context: RequestContext,
        authority: Authority
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        try await proving(bound?.key, .get, url, accessToken: bound?.token, context) { proof in
            try await send(
                .get,
                url,
                authorization: bound.map { "\(AuthenticationScheme.dpop) \($0.token)" } ?? authorization,
                proof: proof,
                accept: accept,
                body: nil,
                context: context,
                authority: authority
            )
        }
    }

    /// Fetches a document that is the same for everybody. Redirects are followed a few times, and only within the origin.
    ///
    /// - Returns: The answer, which is unchecked, and its address.
    func document(
        at url: String,
        context: RequestContext,
        authority: Authority
    ) async throws -> (HTTPResponse, body: [UInt8], url: String) {
        var url = url
        for _ in 0..<Self.maximumRedirects {
            let (response, body) = try await get(url, context: context, authority: authority)
            guard let target = response.redirectTarget(from: url), let address = WebAddress(target),
                address.origin == WebAddress(url)?.origin
            else { return (response, body, url) }
            url = target
        }
        let (response, body) = try await get(url, context: context, authority: authority)
        return (response, body, url)
    }

    private static let maximumRedirects = 3

    /// Posts a form. The answer is unchecked.
    ///
    /// - Parameters:
    ///   - place: The place of the client's secret, if it has one.
    ///   - key: The key whose possession the request proves; `nil` for none.
    package func post(
        _ form: [(String, String)],
        to url: String,
        secretIn place: ClientCredentials.Place,
        provenBy key: DPoPKey? = nil,
        context: RequestContext,
        authority: Authority
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        let (form, authorization) = try await credentials?.shown(with: form, in: place) ?? (form, nil)
        let body = Array(FormURLEncoded.encode(form).utf8)
        return try await proving(key, .post, url, context) { proof in
            try await send(
                .post,
                url,
                authorization: authorization,
                proof: proof,
                body: body,
                context: context,
                authority: authority
            )
        }
    }

    /// Posts JSON, without the client's credentials. The answer is unchecked.
    ///
    /// - Parameter token: The bearer token of the request, if there is one.
    package func post(
        json: JSONObject,
        to url: String,
        bearer token: String?,
        context: RequestContext,
        authority: Authority
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        try await send(
            .post,
            url,
            authorization: token.map { "Bearer \($0)" },
            body: json.serialized(),
            contentType: "application/json",
            context: context,
            authority: authority
        )
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ url: String,
        authorization: String?,
        proof: String? = nil,
        accept: String = "application/json",
        body: [UInt8]?,
        contentType: String = FormURLEncoded.contentType,
        context: RequestContext,
        authority: Authority
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        guard let address = WebAddress(url) else {
            throw context.error(
                .untrustedAuthority,
                "An endpoint of \(authority.url) is not an https address: \(WireText.quoted(url))."
            )
        }
        let target = address.target
        var request = HTTPRequest(method: method, scheme: address.scheme, authority: address.environment, path: target)
        for field in extraFields { request.headerFields[field.name] = field.value }
        request.headerFields[.accept] = accept
        request.headerFields[.authorization] = authorization
        request.headerFields[.dpop] = proof
        if body != nil { request.headerFields[.contentType] = contentType }
        if authority.isMicrosoft {
            request.headerFields[.clientRequestID] = context.correlationID.uuidString.lowercased()
            request.headerFields[.returnClientRequestID] = "true"
        }
        if authority.hasHomeAccounts {
            for field in Self.libraryFields { request.headerFields[field.name] = field.value }
        }
        request = request.withUserAgent
        return try await telemetry.observe(.request, completion: Completion.of) {
            try await send(request, body: body, to: address, context)
        }
    }

    private func send(
        _ request: HTTPRequest,
        body: [UInt8]?,
        to address: WebAddress,
        _ context: RequestContext
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        let begin = ContinuousClock.now
        do {
            let (response, bytes) = try await sendInTime(request, body: body)
            note(request, body: body, since: begin, .success((response, bytes)), context)
            context.logger.trace(
                "Endpoint answered",
                metadata: [
                    "http.method": "\(request.method)", "identity.address": "\(address.withoutQuery)",
                    "http.status": "\(response.status.code)",
                ]
            )
            return (response, bytes)
        } catch {
            let error = networkError(error, host: address.host, context: context)
            note(request, body: body, since: begin, .failure(error), context)
            throw error
        }
    }

    private func sendInTime(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        guard let timed = transport as? any TimedTransport else {
            return try await withDeadline(deadline) { [transport] in try await transport.send(request, body: body) }
        }
        // For a thread that libcurl blocks; later than a lease ends, so that a process that stood still for less reads its answer.
        return try await withDeadline(deadline + .seconds(20)) { [deadline] in
            try await timed.send(request, body: body, within: deadline)
        }
    }

    private func note(
        _ request: HTTPRequest,
        body: [UInt8]?,
        since begin: ContinuousClock.Instant,
        _ outcome: Result<(HTTPResponse, body: [UInt8]), any Error>,
        _ context: RequestContext
    ) {
        observer?.note(request, body: body, took: begin.duration(to: .now), outcome, context.correlationID)
    }

    private func networkError(_ error: any Error, host: String, context: RequestContext) -> any Error {
        switch error {
        case AuthenticationError.Code.networkTimedOut, is DeadlineExceeded:
            context.error(
                .networkTimedOut,
                "\(host) did not answer in time. Try again; no new sign-in is needed.",
                underlyingError: (error as? AuthenticationError)?.underlyingError
            )
        case let error as AuthenticationError:
            context.error(error.code, error.message, underlyingError: error.underlyingError, timestamp: error.timestamp)
        case is CancellationError where Task.isCancelled: error
        default:
            context.error(
                .network,
                "\(host) could not be reached. Try again; no new sign-in is needed.",
                underlyingError: error
            )
        }
    }
}

extension EndpointClient {
    /// The header fields that tell Microsoft's services which library asks, and what it obeys.
    ///
    /// They say nothing about the person, the program or the computer but its architecture; see decision 45.
    static let libraryFields = {
        var values = [
            ("x-client-SKU", "swift-identity-client"), ("x-client-Ver", LibraryVersion.current),
            ("x-client-OS", "Linux"), ("x-ms-lib-capability", "retry-after, h429"),
        ]
        #if arch(x86_64)
        values.append(("x-client-CPU", "x64"))
        #elseif arch(arm64)
        values.append(("x-client-CPU", "arm64"))
        #endif
        return values.compactMap { name, value in HTTPField.Name(name).map { HTTPField(name: $0, value: value) } }
    }()
}

extension HTTPField.Name {
    static let clientRequestID = constant("client-request-id")
    static let returnClientRequestID = constant("return-client-request-id")

    /// A name that stands in the source; a test reads each.
    package static func constant(_ text: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(text)") else { preconditionFailure("'\(text)' is no name of a field.") }
        return name
    }
}

/// A client and its secret.
package struct ClientCredentials: Sendable {
    /// The place of the secret in a request.
    package enum Place: Hashable, Sendable {
        /// In `Authorization`, by HTTP Basic.
        case header
        /// In the form, as `client_secret`.
        case form
    }

    let clientID: String
    /// Returns the secret, and the place that the registration demands; a place of `nil` for that of the server.
    let secret: @Sendable () async throws -> (ClientSecret, Place?)?

    /// The form and the `Authorization` field of a request with the secret. The secret is used only for this client's requests: some of a group's tokens belong to other clients.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    func shown(
        with form: [(String, String)],
        in place: Place
    ) async throws -> (form: [(String, String)], authorization: String?) {
        guard form.contains(where: { $0 == ("client_id", clientID) }),
            let (secret, registeredPlace) = try await secret()
        else { return (form, nil) }
        let place = registeredPlace ?? place
        guard place == .header || secret.rawValue.isEmpty else {
            return (form + [("client_secret", secret.rawValue)], nil)
        }
        // If the client is named in both, Okta sees two credentials. In a pushed authorization request, the client
        // identifier is a parameter (RFC 9126 §2.1).
        let isPushed = form.contains { $0.0 == "response_type" }
        return (isPushed ? form : form.filter { $0.0 != "client_id" }, basic(secret))
    }

    private func basic(_ secret: ClientSecret) -> String {
        let pair = [clientID, secret.rawValue].map(PercentEncoding.encode).joined(separator: ":")
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }
}
