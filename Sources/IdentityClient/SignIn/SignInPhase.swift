// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whose turn it is while somebody signs in: what a window or a terminal can say meanwhile.
///
/// ```swift
/// parameters.onProgress = { phase in
///     if case .redirectReceived = phase { bringWindowToFront() }
/// }
/// ```
public enum SignInPhase: Hashable, Sendable {
    /// It is the person's: the page is about to be shown, and they have until this instant. That they closed the page
    /// cannot be noticed.
    case waitingForPerson(until: ContinuousClock.Instant)

    /// It is still the person's, but no browser could be opened: what the launcher says about it. They have to open the address
    /// that ``InteractiveParameters/onAuthorizationURL`` was given, or the program offers another way, such as a device code.
    /// Where nobody was given the address, the sign-in ends with `.browserUnavailable` instead.
    case browserUnavailable(message: String)

    /// It is the program's again: the provider's answer is here, a refusal as well. The tokens are fetched, checked and
    /// stored, and only then does the browser show how it ended.
    case redirectReceived
}
