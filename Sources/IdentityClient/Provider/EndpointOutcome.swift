// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire

/// The meaning of an endpoint's answer to a posted form: the status decides first.
enum EndpointOutcome<Value> {
    /// The server did what it was asked for, and this is what it said.
    case accepted(Value)
    /// The server said no: asking again in the same way will not help.
    case refused(AuthenticationError)
    /// The answer does not tell whether the server acted. A refresh token stays.
    case ambiguous(AuthenticationError)
}

extension EndpointOutcome<TokenResponse> {
    /// Reads the tokens. Of a response with a `fault` nothing but the refresh token is of use.
    init(_ response: HTTPResponse, _ body: [UInt8], grant: GrantType?, now: Int64, context: RequestContext) {
        switch EndpointOutcome<JSONObject>(response, body, grant: grant, now: now, context: context) {
        case .refused(let error): self = .refused(error)
        case .ambiguous(let error): self = .ambiguous(error)
        case .accepted(let json):
            let tokens = TokenResponse(reading: json)
            if let fault = tokens.fault, tokens.refreshToken == nil {
                self = .refused(.malformed("\(fault)", context))
            } else {
                self = .accepted(tokens)
            }
        }
    }
}

extension EndpointOutcome<JSONObject> {
    /// - Parameter grant: The credential that was redeemed, or `nil` where none was.
    init(_ response: HTTPResponse, _ body: [UInt8], grant: GrantType?, now: Int64, context: RequestContext) {
        let status = response.status.code
        let json = try? JSONObject(parsing: body)  // what is not JSON is told by its status below
        let words = json.flatMap(ErrorResponse.init)
        let retryAfter = response.retryAfter(now: now)
        switch status {
        case 200..<300 where words == nil:
            self = json.map(Self.accepted) ?? .ambiguous(.malformed("it is not a JSON object", context))
        case 300..<400:
            self = .refused(
                AuthenticationError(
                    .unexpectedRedirect,
                    "The provider answered with a redirect (\(status)), which is never followed.",
                    correlationID: context.correlationID
                )
            )
        case 429:
            self = .refused(.unavailable(.throttled, status, words, retryAfter, context))
        case 408, 500...:
            let error = AuthenticationError.unavailable(.serverUnavailable, status, words, retryAfter, context)
            self = retryAfter == nil ? .ambiguous(error) : .refused(error)
        case 402..<500 where words == nil && !body.isEmpty:
            self = .refused(.foreign(status, context))
        default:  // Deviation: Entra ID may refuse with status 200.
            self = .refused(OAuthErrorMapping.error(words, status: status, grant: grant, context: context))
        }
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
        AuthenticationError(
            .malformedResponse,
            "The provider's answer could not be read: \(reason). Is this the right authority, or a captive portal?",
            correlationID: context.correlationID
        )
    }

    /// The error for an answer of a firewall, a proxy or a gateway, with a page or with JSON without an OAuth error.
    /// The state of the tokens is unknown, and a new sign-in would end the same way.
    ///
    /// 400 and 401 are the statuses of refusals, whatever the body is.
    /// - SeeAlso: [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)
    fileprivate static func foreign(_ status: Int, _ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            """
            Something has answered \(status) in the provider's place: the answer has none of OAuth's errors. A \
            firewall, a gateway or a captive portal does that; or is this not the right authority?
            """,
            serverError: ServerError(nil, status: status),
            correlationID: context.correlationID
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
        return AuthenticationError(
            code,
            (code == .throttled ? "The server asks to wait." : "The server cannot answer now (\(status)).") + wait,
            serverError: ServerError(words, status: status),
            retryAfter: retryAfter,
            correlationID: context.correlationID
        )
    }
}

extension ServerError {
    init(_ words: ErrorResponse?, status: Int?) {
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
