// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// An error of the programs, with a text in the person's language.
public struct WordedError: Error {
    let code: AuthenticationError.Code
    let text: String

    init(_ code: AuthenticationError.Code, _ text: String) {
        self.code = code
        self.text = text
    }
}

/// An error in words for the person at the window.
public struct Problem: Sendable, Equatable {
    /// The error and the remedy.
    public let text: String
    /// The details for support: code, correlation identifier and time.
    public let details: String
    /// The words of the library, in English, if the text has others.
    private let words: String
    /// The command that may help.
    public let remedy: Remedy
    /// Whether a person decided so, and nothing failed.
    public let isDecision: Bool
    /// Whether the program could go on if it kept the sign-in in memory only.
    public let concernsCache: Bool
    /// Whether this session has no keyring, so that another attempt fails as well.
    public let hasNoKeyring: Bool

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

    /// The text, the details, and the library's words if the text has others.
    public var forSupport: String { [full, words].filter { !$0.isEmpty }.joined(separator: "\n") }

    /// Whether there is more for support than the text.
    var hasDetails: Bool { forSupport != text }

    /// Puts an error into words; `nil` if the person caused it, for example by cancelling.
    public init?(_ error: any Error) {
        if error is CancellationError { return nil }
        if let error = error as? WordedError {
            let remedy = error.code.family == .configuration ? Remedy.none : .retry
            self.init(text: error.text, remedy: remedy, isDecision: error.code.family == .userCancelled)
            return
        }
        guard let error = error as? AuthenticationError else {
            let text = tr("Something went wrong: {0}", "\(error)")
            self.init(text: Translation.isEnglish ? text : Self.unworded, words: "\(error)", remedy: .retry)
            return
        }
        if error.code == .interactionSuperseded { return nil }
        let text = Self.text(of: error, isEnglish: Translation.isEnglish)
        self.init(
            text: text,
            details: Self.details(of: error),
            words: text == error.message ? "" : error.message,
            remedy: Self.remedy(error),
            isDecision: error.family == .userCancelled && error.code != .interactionTimedOut,
            concernsCache: error.family == .cache,
            hasNoKeyring: Self.noKeyring.contains(error.code)
        )
    }

    /// Creates a problem that no error of the library describes.
    public init(text: String, remedy: Remedy) {
        self.init(text: text, words: "", remedy: remedy)
    }

    private static let noKeyring: Set<AuthenticationError.Code> = [
        .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
    ]

    private init(
        text: String,
        details: String = "",
        words: String = "",
        remedy: Remedy,
        isDecision: Bool = false,
        concernsCache: Bool = false,
        hasNoKeyring: Bool = false
    ) {
        self.text = text
        self.details = details
        self.words = words
        self.remedy = remedy
        self.isDecision = isDecision
        self.concernsCache = concernsCache
        self.hasNoKeyring = hasNoKeyring
    }

    private static func details(of error: AuthenticationError) -> String {
        let time = error.timestamp.formatted(.iso8601)
        guard let id = error.correlationID else { return "\(error.code) · \(time)" }
        return "\(error.code) · \(id) · \(time)"
    }

    private static func remedy(_ error: AuthenticationError) -> Remedy {
        switch error.family {
        case .configuration: .none
        case .interactionRequired: error.code == .adminConsentRequired ? .none : .signIn
        case .scopesDeclined: .signIn
        default: .retry
        }
    }
}

extension Problem {
    private static var unworded: String {
        tr("It did not work. The details for support say why, in English.")
    }

    /// Returns the text for common errors. The library's words for the others are shown to people who read English; for
    /// everybody else they are only in what can be copied for support.
    static func text(of error: AuthenticationError, isEnglish: Bool) -> String {
        switch error.code {
        case .adminConsentRequired:
            tr(
                """
                Only an administrator of your organization can allow this. Ask them to open the program's page in the \
                Microsoft Entra admin center and choose “Grant admin consent”, then try again.
                """
            )
        case .consentRequired: tr("The program was not given what it needs. Sign in and agree to it.")
        // The library's words name the disk.
        case .cacheFull where !isEnglish:
            tr("There is no room to keep the sign-in. Make room on the disk, then try again.")
        case .accessDenied: tr("The sign-in was refused, in the browser or by the provider.")
        case .interactionTimedOut: tr("The sign-in was not finished in time.")
        case .browserUnavailable: tr("Could not open a browser.")
        case .throttled:
            error.retryAfter.map { tr("The server is busy. Try again in {0} s.", "\($0.components.seconds)") }
                ?? tr("The server is busy. Try again in a moment.")
        case .requestLoop: tr("Too many identical attempts. Try again in some minutes.")
        case .keyringLocked:
            tr("Your login keyring is locked. Unlock it, in “Passwords and Keys” for example, and try again.")
        case .keyringNoService:
            tr("No keyring runs in this session. Start GNOME Keyring, KWallet or KeePassXC, then try again.")
        case .keyringNoSessionBus:
            tr("This session has no message bus, so the keyring cannot be reached. Start the program from a desktop.")
        case .keyringLibraryMissing:
            tr("The library for the keyring, libsecret, is missing. Install it, then try again.")
        case .keyringTimedOut: tr("The keyring did not answer in time. Try again.")
        case .keyringPromptDismissed: tr("Unlocking the keyring was cancelled.")
        case .keyringNoDefaultCollection:
            tr(
                "The keyring has no place for sign-ins yet. Create a keyring in “Passwords and Keys”, and make it the default."
            )
        default: text(of: error.family, isEnglish: isEnglish) ?? (isEnglish ? error.message : unworded)
        }
    }

    private static func text(of family: AuthenticationError.Family, isEnglish: Bool) -> String? {
        switch family {
        case .interactionRequired: tr("You need to sign in again.")
        case .scopesDeclined: tr("The program was not given what it needs. Sign in and agree to it.")
        case .serverUnavailable: tr("The server cannot answer now. Try again in a moment.")
        case .network: tr("No connection to the server. Check the network, then try again.")
        case .invalidResponse: tr("The provider's answer cannot be used. Tell its administrator.")
        case .userCancelled where !isEnglish: tr("The sign-in was cancelled.")
        default: nil
        }
    }
}
