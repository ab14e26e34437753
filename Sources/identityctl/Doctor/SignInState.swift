// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// The state of a sign-in, as far as it is known without a question to the provider.
enum SignInState: Hashable, Sendable {
    /// The last token is good; with an end, no other will follow.
    case good(until: Date, End?)
    case ended(End)
    /// The last token has ended, and the provider was not asked for another one since.
    case unasked

    /// The reason why no other token will follow.
    struct End: Hashable, Sendable {
        /// When the provider said so; `nil` if it gave nothing to renew the token.
        let since: Date?
        /// Whether the server did not know this program's registration any more.
        let isOfRegistration: Bool

        /// The reason in a sentence, without its capital and its end.
        var reason: String {
            guard let since = since?.utcText else { return "the provider gave nothing to renew it" }
            return isOfRegistration
                ? "at \(since) the server did not know this program's registration any more"
                : "the provider refused to renew it at \(since)"
        }

        var message: String {
            guard let since = since?.utcText else {
                return "The last token of the sign-in has ended, and the provider gave nothing to renew it."
            }
            return isOfRegistration
                ? "At \(since) the server did not know this program's registration any more. The next sign-in registers it anew."
                : "The provider ended the sign-in: it refused to renew it at \(since)."
        }
    }
}
