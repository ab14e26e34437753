// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The outcome of a sign-out. The account is removed from this computer in any case.
///
/// ```swift
/// let result = try await app.signOut(account, parameters: parameters)
/// if case .failed(let error) = result.revocation { print(error.message) }
/// ```
public struct SignOutResult: Sendable {
    /// The outcome of one part of a sign-out.
    ///
    /// ```swift
    /// if case .unconfirmed = result.browserSession { show("The browser may still be signed in.") }
    /// ```
    @nonexhaustive public enum Outcome: Sendable, CustomStringConvertible {
        /// The program did not request this part.
        case notRequested
        /// This part is done.
        case succeeded
        /// There was nothing to do: the account had no refresh token to revoke.
        case notNeeded
        /// The provider does not offer this part: it publishes no endpoint for it, and the program names none.
        case unavailable
        /// The sign-out page was opened, but no answer confirms that the person finished there.
        case unconfirmed
        /// This part failed and is not tried again: the provider refused it (``AuthenticationError/serverError`` has
        /// its words) or could not be reached.
        case failed(AuthenticationError)

        /// The case's name; for a failure, also its code and message.
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

    /// Whether this computer had any record of the account to remove.
    public let wasSignedIn: Bool

    /// Whether the refresh tokens were revoked. An access token may still be valid until it expires.
    public let revocation: Outcome

    /// Whether the browser's session with the provider was ended.
    public let browserSession: Outcome

    /// Creates a result, for a program's tests.
    public init(wasSignedIn: Bool, revocation: Outcome = .notRequested, browserSession: Outcome = .notRequested) {
        self.wasSignedIn = wasSignedIn
        self.revocation = revocation
        self.browserSession = browserSession
    }
}

extension SignOutResult.Outcome: Equatable {
    /// Whether both are the same case; failures are equal where their codes are.
    public static func == (first: Self, second: Self) -> Bool {
        switch (first, second) {
        case (.failed(let error), .failed(let other)): error.code == other.code
        case (.failed, _), (_, .failed): false
        default: first.description == second.description
        }
    }
}
