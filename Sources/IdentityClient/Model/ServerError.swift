// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The authorization server's own words about a refusal.
///
/// The server's text is kept unchanged, except that control characters are removed and it is cut after 1,000
/// characters.
///
/// ```swift
/// if let server = error.serverError { logger.info("\(server.error), trace \(server.traceID ?? "none")") }
/// ```
/// - SeeAlso: [RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1) and
///   [§5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)
public struct ServerError: Hashable, Sendable {
    /// `error`, for example `invalid_grant`; `http_400` and the like if the server sent none.
    public var error: String

    /// `error_description`: for a developer, not for the person.
    public var errorDescription: String?

    /// `error_uri`: a page about the error.
    public var errorURI: String?

    /// `suberror`: Microsoft's second level, for example `bad_token`.
    public var suberror: String?

    /// `error_codes`: Microsoft's numbers, for example 65001.
    public var errorCodes: [Int]

    /// `trace_id`: identifies the request in Microsoft's logs.
    public var traceID: String?

    /// `correlation_id` as the server saw it.
    public var correlationID: String?

    /// `timestamp`: the server's time of the error, in the server's format.
    public var timestamp: String?

    /// The HTTP status, if the answer came over HTTP.
    public var httpStatus: Int?

    /// Creates a server error, for a program's tests.
    public init(
        error: String,
        errorDescription: String? = nil,
        errorURI: String? = nil,
        suberror: String? = nil,
        errorCodes: [Int] = [],
        traceID: String? = nil,
        correlationID: String? = nil,
        timestamp: String? = nil,
        httpStatus: Int? = nil
    ) {
        self.error = error
        self.errorDescription = errorDescription
        self.errorURI = errorURI
        self.suberror = suberror
        self.errorCodes = errorCodes
        self.traceID = traceID
        self.correlationID = correlationID
        self.timestamp = timestamp
        self.httpStatus = httpStatus
    }
}
