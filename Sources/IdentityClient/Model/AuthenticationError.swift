// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Why a token could not be had, and what to do next.
///
/// Decide by ``code``, which has two levels: `catch AuthenticationError.interactionRequired` also catches
/// `.consentRequired` and every other reason for which a person is needed. A cancelled task throws
/// `CancellationError` instead. No error contains a token, a code or a verifier.
///
/// ```swift
/// do {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// } catch AuthenticationError.interactionRequired {
///     result = try await app.acquireTokenInteractively(scopes: scopes)
/// } catch let error as AuthenticationError {
///     print(error.message)
/// }
/// ```
public struct AuthenticationError: Error, Sendable {
    /// What went wrong, in two levels.
    public let code: Code

    /// What to do next, in plain words. Not part of the API: never compare it.
    public let message: String

    /// The server's own words, where it said any.
    public let serverError: ServerError?

    /// The claims challenge to pass to the next acquisition, where the server gave one (JSON).
    public let claims: String?

    /// How long to wait before the next attempt, where the server or the library's own brake says so.
    public let retryAfter: Duration?

    /// Names the request on both sides, for support; `nil` where no request was made.
    public let correlationID: UUID?

    /// When it went wrong, for support: the moment this error was made, by this computer's clock.
    ///
    /// It is compared with the logs of others, and so it is never a ``WallClock`` of the program's own. The server's time is
    /// in ``serverError``, where it told one.
    public let timestamp: Date

    /// The cause beneath, where there is one.
    public let underlyingError: (any Error)?

    /// Creates an error; a program's tests and a cache of one's own do this.
    ///
    /// Who makes an error of another one, and keeps its correlation identifier, hands on its `timestamp` as well.
    public init(
        _ code: Code,
        _ message: String,
        serverError: ServerError? = nil,
        claims: String? = nil,
        retryAfter: Duration? = nil,
        correlationID: UUID? = nil,
        underlyingError: (any Error)? = nil,
        timestamp: Date = Date()
    ) {
        self.code = code
        self.message = message
        self.serverError = serverError
        self.claims = claims
        self.retryAfter = retryAfter
        self.correlationID = correlationID
        self.underlyingError = underlyingError
        self.timestamp = timestamp
    }

    /// The code alone: a bounded vocabulary, safe as a metric label.
    public var shortDescription: String { code.rawValue }
}

extension AuthenticationError: CustomStringConvertible {
    /// The message; then what support asks for: the code, the correlation identifier and the time in UTC.
    public var description: String {
        var text = "\(message) [\(code.rawValue)"
        if let serverError { text += "; \(serverError.error)" }
        if let suberror = serverError?.suberror { text += "/\(suberror)" }
        if let correlationID { text += "; correlation \(correlationID.uuidString.lowercased())" }
        return text + "; \(timestamp.utcText)]"
    }
}
