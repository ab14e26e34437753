// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError {
    /// The first level of an error's code, which decides how a program reacts.
    ///
    /// ```swift
    /// } catch let error as AuthenticationError {
    ///     switch error.family {
    ///     case .interactionRequired, .interactionUnavailable: showSignInButton()
    ///     case .userCancelled: break
    ///     default: show(error.message)
    ///     }
    /// }
    /// ```
    public enum Family: String, Hashable, Sendable, CaseIterable {
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
        /// The program, its registration or the provider's policy must be changed. A program's own codes with another
        /// first level also belong to this family.
        case configuration
    }

    /// The family of ``code``.
    public var family: Family { code.family }
}

extension AuthenticationError.Code {
    /// The family of the code: its first level.
    public var family: AuthenticationError.Family {
        AuthenticationError.Family(rawValue: primary.rawValue) ?? .configuration
    }
}

// The families, repeated on the error itself so that `catch AuthenticationError.interactionRequired` works.
extension AuthenticationError {
    /// A person is needed: call `acquireTokenInteractively` with the same scopes.
    public static var interactionRequired: Code { .interactionRequired }
    /// The sign-in was ended before it was finished.
    public static var userCancelled: Code { .userCancelled }
    /// The sign-in could not be shown to the person.
    public static var interactionUnavailable: Code { .interactionUnavailable }
    /// No requested scope was granted; the person is signed in.
    public static var scopesDeclined: Code { .scopesDeclined }
    /// The server cannot answer now: try again later.
    public static var serverUnavailable: Code { .serverUnavailable }
    /// The server could not be reached.
    public static var network: Code { .network }
    /// The token cache cannot be used now.
    public static var cache: Code { .cache }
    /// The server's answer failed a check.
    public static var invalidResponse: Code { .invalidResponse }
    /// The program, its registration or the provider's policy must be changed.
    public static var configuration: Code { .configuration }
}
