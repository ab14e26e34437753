// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The page that the browser shows when it comes back from the provider.
///
/// ```swift
/// await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
/// ```
public struct RedirectPage: Hashable, Sendable {
    /// How the sign-in or sign-out ended.
    ///
    /// ```swift
    /// let page = RedirectPage(outcome: error == nil ? .succeeded : .failed, message: error?.message)
    /// ```
    public enum Outcome: Hashable, Sendable {
        /// The tokens were issued.
        case succeeded
        /// The session with the provider was ended.
        case signedOut
        /// It failed; the page says so.
        case failed
        /// Another redirect than the awaited one: a plain refusal, and the wait goes on.
        case refused
    }

    /// How the sign-in or sign-out ended.
    public var outcome: Outcome

    /// One sentence of plain English for the person, or `nil` for the default. It is escaped, and cut after 1,000
    /// characters. Where the page's ``Texts`` are in another language, it is shown below theirs.
    public var message: String?

    /// Creates a page.
    public init(outcome: Outcome, message: String? = nil) {
        self.outcome = outcome
        self.message = message
    }
}
