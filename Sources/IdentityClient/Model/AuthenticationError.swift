// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The reason why no token was acquired, and the next step.
///
/// Decide by ``code``, which has two levels: `catch AuthenticationError.interactionRequired` also catches
/// `.consentRequired` and every other reason that needs a person. A cancelled task throws `CancellationError` instead.
/// No error contains a token, a code or a verifier.
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
    /// The reason for the error, in two levels.
    public let code: Code

    /// The next step, in plain words. The text is not part of the API: never compare it.
    public let message: String

    /// The server's own words, if it sent any.
    public let serverError: ServerError?

    /// The claims challenge (JSON) to pass to the next acquisition, if the server sent one.
    public let claims: String?

    /// The demands that an API makes of the next sign-in, if it refused the token because of them. See
    /// `InteractiveParameters(scopes:account:meeting:)`.
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
