// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What a sign-out achieved. The account is gone from this computer in any case.
///
/// ```swift
/// let result = try await app.signOut(account, parameters: parameters)
/// if case .failed(let error) = result.revocation { print(error.message) }
/// ```
public struct SignOutResult: Sendable {
    /// What became of one part of a sign-out.
    public enum Outcome: Sendable, CustomStringConvertible {
        /// It was not asked for.
        case notRequested
        /// It is done.
        case succeeded
        /// There was nothing to do: no refresh token was held that could be revoked.
        case notNeeded
        /// It was not done, because the provider does not offer it: it publishes no endpoint for it, and the program names
        /// none.
        case unavailable
        /// The page was opened; nobody says whether the person finished there.
        case unconfirmed
        /// It did not succeed, and is not tried again: the provider refused it (``AuthenticationError/serverError`` has its
        /// words), or could not be asked.
        case failed(AuthenticationError)

        /// The case's name; a failure's code and message beside it.
        public var description: String {
            switch self {
            case .notRequested: "notRequested"
            case .succeeded: "succeeded"
            case .notNeeded: "notNeeded"
            case .unavailable: "unavailable"
            case .unconfirmed: "unconfirmed"
            case .failed(let error): "failed(\(error))"
            }
        }
    }

    /// Whether there was anything to remove from this computer.
    public let wasSignedIn: Bool

    /// Whether the refresh tokens were taken back. An access token may stay valid until it expires all the same.
    public let revocation: Outcome

    /// Whether the browser's session with the provider was ended.
    public let browserSession: Outcome

    /// Creates a result; a program's tests do this.
    public init(wasSignedIn: Bool, revocation: Outcome = .notRequested, browserSession: Outcome = .notRequested) {
        self.wasSignedIn = wasSignedIn
        self.revocation = revocation
        self.browserSession = browserSession
    }
}
