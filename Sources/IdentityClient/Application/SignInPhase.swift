// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whose turn it is while somebody signs in: what a window or a terminal can say meanwhile.
public enum SignInPhase: Hashable, Sendable {
    /// It is the person's: the page is about to be shown, and they have until this instant. That they closed the page
    /// cannot be noticed.
    case waitingForPerson(until: ContinuousClock.Instant)

    /// It is the program's again: the provider's answer is here, a refusal as well. The tokens are fetched, checked and
    /// stored, and only then does the browser show how it ended.
    case redirectReceived
}
