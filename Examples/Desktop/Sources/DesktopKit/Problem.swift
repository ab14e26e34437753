// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// An error in words for the person at the window.
public struct Problem: Sendable, Equatable {
    /// The error and the remedy.
    public let text: String
    /// The details for support: code, correlation identifier and time.
    public let details: String
    /// The command that may help.
    public let remedy: Remedy
    /// Whether a person decided so, and nothing failed.
    public let isDecision: Bool
    /// Whether the program could go on if it kept the sign-in in memory only.
    public let concernsCache: Bool

    /// A command that may help.
    public enum Remedy: Sendable {
        /// Another attempt does not help.
        case none
        /// The same attempt again.
        case retry
        /// A sign-in in the browser.
        case signIn
    }

    /// The text, and the details on a separate line.
    public var full: String { details.isEmpty ? text : "\(text)\n\(details)" }

    /// Puts an error into words; `nil` if the person caused it, for example by cancelling.
    public init?(_ error: any Error) {
        if error is CancellationError { return nil }
        guard let error = error as? AuthenticationError else {
            self.init(text: tr("Something went wrong: {0}", "\(error)"), remedy: .retry)
            return
        }
        if error.code == .interactionSuperseded { return nil }
        self.init(
            text: Self.text(of: error),
            details: Self.details(of: error),
            remedy: Self.remedy(error),
            isDecision: .userCancelled ~= error.code && error.code != .interactionTimedOut,
            concernsCache: .cache ~= error.code
        )
    }

    /// Creates a problem that no error of the library describes.
    public init(text: String, remedy: Remedy) {
        self.init(text: text, details: "", remedy: remedy, isDecision: false, concernsCache: false)
    }

    private init(text: String, details: String, remedy: Remedy, isDecision: Bool, concernsCache: Bool) {
        self.text = text
        self.details = details
        self.remedy = remedy
        self.isDecision = isDecision
        self.concernsCache = concernsCache
    }

    private static func details(of error: AuthenticationError) -> String {
        let time = error.timestamp.formatted(.iso8601)
        guard let id = error.correlationID else { return "\(error.code) · \(time)" }
        return "\(error.code) · \(id) · \(time)"
    }

    private static func remedy(_ error: AuthenticationError) -> Remedy {
        switch error.code {
        case AuthenticationError.configuration, AuthenticationError.Code.adminConsentRequired: .none
        case AuthenticationError.interactionRequired, AuthenticationError.scopesDeclined: .signIn
        default: .retry
        }
    }
}

extension Problem {
    /// Returns the text for common errors. The other errors' own descriptions are clear enough.
    private static func text(of error: AuthenticationError) -> String {
        switch error.code {
        case AuthenticationError.Code.adminConsentRequired:
            tr(
                """
                Only an administrator of your organization can allow this. Ask them to open the program's page in the \
                Microsoft Entra admin center and choose “Grant admin consent”, then try again.
                """
            )
        case AuthenticationError.Code.accessDenied: tr("The sign-in was refused, in the browser or by the provider.")
        case AuthenticationError.Code.interactionTimedOut: tr("The sign-in was not finished in time.")
        case AuthenticationError.Code.browserUnavailable: tr("Could not open a browser.")
        case AuthenticationError.Code.accountMismatch: error.message
        case AuthenticationError.interactionRequired: tr("You need to sign in again.")
        case AuthenticationError.scopesDeclined: tr("The program was not given what it needs. Sign in and agree to it.")
        case AuthenticationError.Code.throttled:
            error.retryAfter.map { tr("The server is busy. Try again in {0} s.", "\($0.components.seconds)") }
                ?? tr("The server is busy. Try again in a moment.")
        case AuthenticationError.Code.requestLoop: tr("Too many identical attempts. Try again in some minutes.")
        case AuthenticationError.serverUnavailable: tr("The server cannot answer now. Try again in a moment.")
        case AuthenticationError.network: tr("No connection to the server. Check the network, then try again.")
        case AuthenticationError.Code.keyringLocked:
            tr("Your login keyring is locked. Unlock it, in “Passwords and Keys” for example, and try again.")
        case AuthenticationError.Code.keyringNoService:
            tr("No keyring runs in this session. Start GNOME Keyring, KWallet or KeePassXC, then try again.")
        case AuthenticationError.Code.keyringNoSessionBus:
            tr("This session has no message bus, so the keyring cannot be reached. Start the program from a desktop.")
        case AuthenticationError.Code.keyringLibraryMissing:
            tr("The library for the keyring, libsecret, is missing. Install it, then try again.")
        case AuthenticationError.Code.keyringTimedOut: tr("The keyring did not answer in time. Try again.")
        case AuthenticationError.Code.keyringPromptDismissed: tr("Unlocking the keyring was cancelled.")
        default: error.message
        }
    }
}
