// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The exit status that the program returns to the shell.
enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
    case done = 0
    /// Any failure that no other status describes.
    case other = 1
    /// A person has to sign in.
    case interactionRequired = 2
    /// The network or the server is unavailable, or the server asked to wait.
    case unavailable = 3
    /// The cache is unavailable.
    case cacheUnavailable = 4
    /// An answer, or the certificate of a server, could not be trusted.
    case notBelieved = 5
    /// Cancelled, timed out or superseded.
    case cancelled = 6
    /// The provider or the person refused.
    case refused = 7
    /// No browser could be opened here.
    case browserUnavailable = 8
    /// Several accounts are signed in, and none of them was chosen.
    case accountNotChosen = 9
    /// The provider does not offer the requested revocation of the tokens.
    case revocationUnavailable = 10
    /// A refresh token was spent, and its successor could not be stored.
    case notStored = 11
    /// An API answered with a status other than 200 to 299.
    case unexpectedResponse = 22
    /// Wrong usage.
    case usage = 64
    /// The command of 'exec' was found, and could not be started.
    case commandNotStarted = 126
    /// There is no such command.
    case commandNotFound = 127
}

extension ExitStatus {
    init(for error: any Error) {
        switch error {
        case let error as AuthenticationError: self.init(for: error.code)
        case is CancellationError: self = .cancelled
        case is UsageError: self = .usage
        case is AccountNotChosen: self = .accountNotChosen
        case is APIRefusal: self = .unexpectedResponse
        case let error as CommandFailure: self = error.isNotFound ? .commandNotFound : .commandNotStarted
        default: self = .other
        }
    }

    init(for code: AuthenticationError.Code) {
        self =
            switch code {
            case .interactionRequired: .interactionRequired
            // A failed TLS handshake does not go away by itself.
            case .tlsFailed: .notBelieved
            case .network, .serverUnavailable, .transportUnavailable: .unavailable
            case .cache: .cacheUnavailable
            case .invalidResponse: .notBelieved
            case .accessDenied, .scopesDeclined: .refused
            case .interactionInProgress, .userCancelled: .cancelled
            case .interactionUnavailable: .browserUnavailable
            case .blockedByPolicy, .clientNotRegistered, .invalidScope, .invalidTarget: .refused
            case .invalidArgument: .usage
            default: .other
            }
    }
}

/// The end of a command that has written everything and has only its exit status left to return.
struct Ended: Error {
    let status: ExitStatus
}

/// An error for several signed-in accounts of which neither the command line nor an earlier choice names one.
struct AccountNotChosen: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
