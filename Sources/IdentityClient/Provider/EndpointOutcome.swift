// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import OAuthWire

/// The meaning of an endpoint's answer to a posted form: the status decides first.
enum EndpointOutcome<Value> {
    /// The server did what it was asked for, and this is what it said.
    case accepted(Value)
    /// The server said no, or gave an answer that is whole and of no use: the request is not sent again.
    case refused(AuthenticationError)
    /// The answer was lost on the way, so it does not tell whether the server acted. A refresh token stays.
    case ambiguous(AuthenticationError)
}

extension EndpointOutcome<TokenResponse> {
    /// Reads the tokens. Of a response with a `fault` nothing but the refresh token is of use.
    init(_ response: HTTPResponse, _ body: [UInt8], grant: GrantType?, now: Int64, context: RequestContext) {
        let answer = TokenAnswer(body)
        let outcome = EndpointOutcome<JSONObject>(
            response,
            answer.members,
            isEmpty: body.isEmpty,
            grant: grant,
            now: now,
            context: context
        )
        switch outcome {
        case .accepted(let json): self.init(TokenResponse(reading: json), context)
        case .refused(let error) where response.status.kind == .successful:
            // While a person acts on another device, the code is asked about again and again: a page on the way ends nothing.
            let mayBeLost =
                grant == .deviceCode ? answer.members == nil : answer.isCutOff && !response.marksItsEnd
            self.init(answer, refused: error, mayBeLost: mayBeLost, context)
        case .refused(let error): self = .refused(error)
        case .ambiguous(let error): self = .ambiguous(error)
        }
    }

    private init(_ tokens: TokenResponse, _ context: RequestContext) {
        if let fault = tokens.fault, tokens.refreshToken == nil {
            self = .refused(.malformed("\(fault)", context))
        } else {
            self = .accepted(tokens)
        }
    }

    /// Looks for the new refresh token in a success that cannot be read, or that has an error beside its tokens.
    ///
    /// - Parameter mayBeLost: Whether an answer without a token leaves open whether the server acted. An answer that does
    ///   not say where it ends, and is cut off, cannot be told from a connection that ended early.
    private init(_ answer: TokenAnswer, refused error: AuthenticationError, mayBeLost: Bool, _ context: RequestContext)
    {
        do {
            guard let rescued = try answer.rescued() else {
                let error = answer.problem.map { .malformed("\($0)", context) } ?? error
                self = mayBeLost ? .ambiguous(error) : .refused(error)
                return
            }
            self = .accepted(rescued)
        } catch {
            self = .refused(.malformed("\(error)", context))
        }
    }
}

extension HTTPResponse {
    /// Whether a connection that ended early would have been noticed.
    fileprivate var marksItsEnd: Bool {
        headerFields[.contentLength] != nil || headerFields[.transferEncoding] != nil
    }
}

extension HTTPResponse {
    /// Whether a 4xx without an OAuth error is that of a gateway or a proxy. The statuses of refusals are so for a refresh alone,
    /// with a page or a challenge of the gateway's own.
    fileprivate func isForeign(to grant: GrantType?, isEmpty: Bool, isObject: Bool) -> Bool {
        guard status.code < 402 else { return !isEmpty || status.code == 407 }
        let schemes = headerFields[values: .wwwAuthenticate].map { $0.lowercased().prefix { $0 != " " } }
        let isDemand = schemes.contains { ["basic", "negotiate", "ntlm"].contains($0) }
        return grant == .refreshToken && (!isEmpty && !isObject || isDemand)
    }
}

extension EndpointOutcome<JSONObject> {
    /// - Parameter grant: The credential that was redeemed, or `nil` where none was.
    init(_ response: HTTPResponse, _ body: [UInt8], grant: GrantType?, now: Int64, context: RequestContext) {
        let json = try? JSONObject(received: body)  // what is not JSON is told by its status
        self.init(response, json, isEmpty: body.isEmpty, grant: grant, now: now, context: context)
    }

    fileprivate init(
        _ response: HTTPResponse,
        _ json: JSONObject?,
        isEmpty: Bool,
        grant: GrantType?,
        now: Int64,
        context: RequestContext
    ) {
        let status = response.status.code
        let words = json.flatMap(ErrorResponse.init)
        let retryAfter = response.retryAfter(now: now)
        switch status {
        case 200..<300 where words == nil:
            self = json.map(Self.accepted) ?? .refused(.malformed("it is not a JSON object", context))
        case 300..<400:
            // A query could hold what was posted.
            let place = response.headerFields[.location].map { String($0.prefix { !"?#".contains($0) }) }
            let target = place.map { " to \(WireText.quoted($0))" } ?? ""
            let text =
                "The provider answered with a redirect (\(status))\(target), which is never followed. Has it moved?"
            self = .refused(context.error(.malformedResponse, text))
        case 429:
            self = .refused(.unavailable(.throttled, status, words, retryAfter, context))
        case 408, 500...:
            let error = AuthenticationError.unavailable(.serverUnavailable, status, words, retryAfter, context)
            self = Self.isOfAGateway(status) && retryAfter == nil ? .ambiguous(error) : .refused(error)
        case 400..<500
        where words == nil && response.isForeign(to: grant, isEmpty: isEmpty, isObject: json != nil):
            self = .refused(.foreign(status, json.flatMap(ErrorResponse.foreignWords), context))
        default:  // Deviation: Entra ID may refuse with status 200.
            self = .refused(
                OAuthErrorMapping.error(
                    words,
                    foreignWords: words == nil ? json.flatMap(ErrorResponse.foreignWords) : nil,
                    status: status,
                    grant: grant,
                    context: context
                )
            )
        }
    }

    /// Whether something on the way did not wait for the server, or did not understand it. Cloudflare's statuses begin with
    /// 520.
    private static func isOfAGateway(_ status: Int) -> Bool {
        [408, 502, 503, 504].contains(status) || (520..<530).contains(status)
    }

    /// The answer's members, if the server granted the request.
    ///
    /// - Throws: The error of any other outcome.
    func members() throws(AuthenticationError) -> JSONObject {
        switch self {
        case .accepted(let json): return json
        case .refused(let error), .ambiguous(let error): throw error
        }
    }
}

extension AuthenticationError {
    static func malformed(_ reason: String, _ context: RequestContext) -> AuthenticationError {
        context.error(
            .malformedResponse,
            "The provider's answer could not be read: \(reason). Is this the right authority, or a captive portal?"
        )
    }

    /// The error for an answer of a firewall, a proxy or a gateway, with a page or with JSON without an OAuth error.
    /// The state of the tokens is unknown, and a new sign-in would end the same way.
    ///
    /// With the statuses of a refusal, the provider is only out of reach.
    /// - SeeAlso: [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)
    fileprivate static func foreign(_ status: Int, _ words: String?, _ context: RequestContext) -> AuthenticationError {
        var server = ServerError(nil, status: status)
        server.errorDescription = words
        return context.error(
            [400, 401, 407].contains(status) ? .serverUnavailable : .malformedResponse,
            """
            Something has answered \(status) in the provider's place: the answer has none of OAuth's errors. A \
            firewall, a gateway or a captive portal does that; or is this not the right authority?
            """,
            serverError: server
        )
    }

    fileprivate static func unavailable(
        _ code: AuthenticationError.Code,
        _ status: Int,
        _ words: ErrorResponse?,
        _ retryAfter: Duration?,
        _ context: RequestContext
    ) -> AuthenticationError {
        let wait = retryAfter.map { " Try again in \($0.components.seconds) s." } ?? " Try again later."
        return context.error(
            code,
            (code == .throttled ? "The server asks to wait." : "The server cannot answer now (\(status)).") + wait,
            serverError: ServerError(words, status: status),
            retryAfter: retryAfter
        )
    }
}

extension ServerError {
    package init(_ words: ErrorResponse?, status: Int?) {
        self.init(
            error: words?.error ?? status.map { "http_\($0)" } ?? "unknown",
            errorDescription: words?.errorDescription,
            errorURI: words?.errorURI,
            suberror: words?.suberror,
            errorCodes: words?.errorCodes ?? [],
            traceID: words?.traceID,
            correlationID: words?.correlationID,
            timestamp: words?.timestamp,
            httpStatus: status
        )
    }
}
