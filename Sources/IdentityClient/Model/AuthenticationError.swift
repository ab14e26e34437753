// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
package import Logging

/// The reason why no token was acquired, and the next step.
///
/// Decide by ``family``, which has nine values, and by ``code`` where a program treats one reason in another way. A cancelled task
/// throws `CancellationError` instead. No error contains a token, a code or a verifier.
///
/// ```swift
/// do {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// } catch let error as AuthenticationError where error.family == .interactionRequired {
///     result = try await app.acquireTokenInteractively(scopes: scopes)
/// } catch let error as AuthenticationError {
///     print(error.message)
/// }
/// ```
public struct AuthenticationError: Error, Sendable {
    /// The reason for the error.
    public private(set) var code: Code

    /// The next step, in plain words. The text is not part of the API: never compare it.
    public private(set) var message: String

    /// The server's own words, if it sent any.
    public let serverError: ServerError?

    /// The claims challenge (JSON) to pass to the next acquisition, if the server sent one.
    public let claims: String?

    /// The demands that an API makes of the next sign-in, if it refused the token because of them. See
    /// ``interactiveParameters(scopes:account:)``.
    public let challenge: ResourceChallenge?

    /// The identifiers of the accounts to choose from, with the code `.accountSelectionRequired`; otherwise empty.
    public let matchingAccounts: [Account.ID]

    /// The authority of the cloud that the account belongs to, with the code `.accountInAnotherCloud`; otherwise `nil`.
    public let redirectedAuthority: Authority?

    /// The time to wait before the next attempt, if the server or the library's own loop protection sets one.
    public let retryAfter: Duration?

    /// The identifier of the request on both sides, for support; `nil` if no request was made.
    public let correlationID: UUID?

    /// The moment at which this error was created, by this computer's clock, for support.
    ///
    /// It is compared with the logs of other systems, so a program's own ``WallClock`` never sets it. ``serverError``
    /// has the server's time, if the server sent it.
    public let timestamp: Date

    /// The underlying cause, if there is one.
    public let underlyingError: (any Error)?

    /// Creates an error, for a program's tests and for custom caches.
    ///
    /// To create an error from another error and keep its correlation identifier, pass on its `timestamp` as well.
    public init(
        _ code: Code,
        _ message: String,
        serverError: ServerError? = nil,
        claims: String? = nil,
        challenge: ResourceChallenge? = nil,
        matchingAccounts: [Account.ID] = [],
        redirectedAuthority: Authority? = nil,
        retryAfter: Duration? = nil,
        correlationID: UUID? = nil,
        underlyingError: (any Error)? = nil,
        timestamp: Date = Date()
    ) {
        self.code = code
        self.message = message
        self.serverError = serverError
        self.claims = claims
        self.challenge = challenge
        self.matchingAccounts = matchingAccounts
        self.redirectedAuthority = redirectedAuthority
        self.retryAfter = retryAfter
        self.correlationID = correlationID
        self.underlyingError = underlyingError
        self.timestamp = timestamp
    }

    /// Creates an error of a family, with no closer reason: for a program's tests, and for custom caches and transports.
    @_disfavoredOverload
    public init(
        _ family: Family,
        _ message: String,
        retryAfter: Duration? = nil,
        correlationID: UUID? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.init(
            Code(rawValue: family.rawValue),
            message,
            retryAfter: retryAfter,
            correlationID: correlationID,
            underlyingError: underlyingError
        )
    }

    /// The code alone: a value from a bounded set, safe as a metric label.
    public var shortDescription: String { code.rawValue }
}

extension AuthenticationError: CustomStringConvertible {
    /// The message, followed by what support needs: the code, the correlation identifier and the time in UTC.
    public var description: String {
        var text = "\(message) [\(code.rawValue)"
        if let serverError { text += "; \(serverError.error)" }
        if let suberror = serverError?.suberror { text += "/\(suberror)" }
        if let correlationID { text += "; correlation \(correlationID.uuidString.lowercased())" }
        return text + "; \(timestamp.utcText)]"
    }
}

extension AuthenticationError {
    /// The reason for an error, for example `interaction_required.consent`. Later versions may add codes to a family.
    ///
    /// ```swift
    /// } catch let error as AuthenticationError where error.code == .adminConsentRequired {
    ///     show("Ask your organization's administrator to allow this application.")
    /// }
    /// ```
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text: its family, and in most cases a dot and the reason.
        public let rawValue: String

        /// Creates a code from its text.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The family alone.
        package var primary: Code {
            guard let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: ".")) else { return self }
            return Code(rawValue: String(rawValue[..<dot]))
        }

        /// The code as text.
        public var description: String { rawValue }

        /// Returns whether `code` equals `pattern` or is one of its family.
        package static func ~= (pattern: Code, code: Code) -> Bool {
            pattern == code || pattern == code.primary
        }

        /// Returns whether `error` is an ``AuthenticationError`` whose code matches `pattern`.
        package static func ~= (pattern: Code, error: any Error) -> Bool {
            guard let error = error as? AuthenticationError else { return false }
            return pattern ~= error.code
        }
    }
}

extension AuthenticationError {
    /// The kind of an error, which decides about the next step.
    ///
    /// ```swift
    /// } catch let error as AuthenticationError where error.family == .interactionRequired {
    ///     result = try await app.acquireTokenInteractively(scopes: scopes)
    /// }
    /// ```
    @nonexhaustive public enum Family: String, Hashable, Sendable, CaseIterable {
        /// A person is needed: call `acquireTokenInteractively` with the same scopes.
        case interactionRequired = "interaction_required"
        /// The person, the program or the time-out ended the sign-in.
        case userCancelled = "user_cancelled"
        /// The sign-in could not be shown: offer another way.
        case interactionUnavailable = "interaction_unavailable"
        /// The person is signed in, but none of the requested scopes was granted.
        case scopesDeclined = "scopes_declined"
        /// The server cannot answer now: try again later.
        case serverUnavailable = "server_unavailable"
        /// The server could not be reached. The person stays signed in.
        case network
        /// The token cache cannot be used now. The person stays signed in.
        case cache
        /// The server's answer failed a check.
        case invalidResponse = "invalid_response"
        /// The program, its registration or the provider's policy must be changed. A program's own codes that begin
        /// otherwise also belong to this family.
        case configuration
    }

    /// The family of ``code``.
    public var family: Family { code.family }
}

extension AuthenticationError.Code {
    /// The family of the code.
    public var family: AuthenticationError.Family {
        AuthenticationError.Family(rawValue: primary.rawValue) ?? .configuration
    }
}

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

/// The correlation identifier and the logger of one acquisition.
package struct RequestContext: Sendable {
    /// The request's name on both sides.
    package let correlationID: UUID
    package let logger: Logger

    package init(correlationID: UUID?, logger: Logger?) {
        self.correlationID = correlationID ?? UUID()
        var logger = logger ?? Logger.current
        logger[metadataKey: "identity.correlation_id"] = "\(self.correlationID.uuidString.lowercased())"
        self.logger = logger
    }

    /// An error of this request.
    package func error(
        _ code: AuthenticationError.Code,
        _ message: String,
        serverError: ServerError? = nil,
        claims: String? = nil,
        challenge: ResourceChallenge? = nil,
        redirectedAuthority: Authority? = nil,
        retryAfter: Duration? = nil,
        underlyingError: (any Error)? = nil,
        timestamp: Date = Date()
    ) -> AuthenticationError {
        AuthenticationError(
            code,
            message,
            serverError: serverError,
            claims: claims,
            challenge: challenge,
            redirectedAuthority: redirectedAuthority,
            retryAfter: retryAfter,
            correlationID: correlationID,
            underlyingError: underlyingError,
            timestamp: timestamp
        )
    }
}

extension AuthenticationError {
    /// The same error with another code and message. All else stays.
    package func saying(_ code: Code, _ message: String) -> AuthenticationError {
        var result = self
        (result.code, result.message) = (code, message)
        return result
    }
}

extension AuthenticationError {
    /// Whether the provider could not be reached, or could not answer for now.
    ///
    /// An untrusted certificate is none: another computer may be answering in the provider's place.
    var isOutage: Bool {
        switch code {
        case .tlsFailed: false
        // The library's own, after the same answer five times; or the provider's, about this program.
        case .requestLoop: (underlyingError as? AuthenticationError)?.isOutage ?? false
        case .network, .serverUnavailable: true
        default: false
        }
    }
}
