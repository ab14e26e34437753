// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A phase of a sign-in: who acts next, and what a window or a terminal can say meanwhile.
///
/// ```swift
/// parameters.onProgress = { phase in
///     if case .redirectReceived = phase { bringWindowToFront() }
/// }
/// ```
public enum SignInPhase: Hashable, Sendable {
    /// The person acts: the page is about to be shown, and the person has until this instant. The library cannot notice
    /// that the person closed the page.
    case waitingForPerson(until: ContinuousClock.Instant)

    /// The person still acts, but no browser could be opened; the message is the launcher's. The person has to open the
    /// address that ``InteractiveParameters/onAuthorizationURL`` received, or the program offers another way, such as a
    /// device code. If the program set no handler for the address, the sign-in ends with `.browserUnavailable` instead.
    case browserUnavailable(message: String)

    /// The identity broker could not be used, and the browser is opened instead: ``waitingForPerson(until:)`` follows
    /// once more. The message tells the reason.
    case brokerUnavailable(message: String)

    /// The program acts: the provider's answer, or its refusal, has arrived. The tokens are fetched, checked and
    /// stored; only then does the browser show how the sign-in ended.
    case redirectReceived
}
