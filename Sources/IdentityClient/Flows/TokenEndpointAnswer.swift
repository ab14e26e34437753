// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What an answer of the token endpoint means, by its status first.
enum TokenEndpointAnswer {
    /// The tokens. With a `fault` in it nothing but the refresh token is of use.
    case granted(TokenResponse)
    /// The server said no: asking again in the same way will not help.
    case refused(AuthenticationError)
    /// Nobody knows whether the server acted: the refresh token stays.
    case ambiguous(AuthenticationError)
}

extension TokenEndpointAnswer {
    /// Which credential was redeemed.
    enum Grant: String, Sendable {
        case authorizationCode = "authorization code"
        case refreshToken = "refresh token"
        case deviceCode = "device code"
    }

    init(_ answer: EndpointAnswer, grant: Grant, now: Int64, context: RequestContext) {
        let json = try? JSONObject(parsing: answer.body)  // what is not JSON is told by its status below
        let retryAfter = answer.retryAfter(now: now)
        switch answer.status {
        case 200..<300:
            self = Self.success(json, status: answer.status, grant: grant, context: context)
        case 300..<400:
            self = .refused(
                AuthenticationError(
                    .unexpectedRedirect,
                    "The token endpoint answered with a redirect (\(answer.status)), which is never followed.",
                    correlationID: context.correlationID
                )
            )
        case 429:
            self = .refused(Self.unavailable(.throttled, answer.status, json, retryAfter, context))
        case 408, 500...:
            let error = Self.unavailable(.serverUnavailable, answer.status, json, retryAfter, context)
            self = retryAfter == nil ? .ambiguous(error) : .refused(error)
        default:
            let words = json.flatMap(ErrorResponse.init)
            self = .refused(ServerRefusal(words, status: answer.status, grant: grant, context: context).error)
        }
    }

    private static func success(
        _ json: JSONObject?,
        status: Int,
        grant: Grant,
        context: RequestContext
    ) -> TokenEndpointAnswer {
        guard let json else { return .ambiguous(malformed("it is not a JSON object", context)) }
        if let words = ErrorResponse(json) {
            return .refused(ServerRefusal(words, status: status, grant: grant, context: context).error)
        }
        let response = TokenResponse(reading: json)
        if let fault = response.fault, response.refreshToken == nil { return .refused(malformed("\(fault)", context)) }
        return .granted(response)
    }

    static func malformed(_ reason: String, _ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            "The token endpoint's answer could not be read: \(reason). Is this the right authority, or a captive portal?",
            correlationID: context.correlationID
        )
    }

    private static func unavailable(
        _ code: AuthenticationError.Code,
        _ status: Int,
        _ json: JSONObject?,
        _ retryAfter: Duration?,
        _ context: RequestContext
    ) -> AuthenticationError {
        let words = json.flatMap(ErrorResponse.init)
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
