// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// Options for how a token is acquired without a sign-in.
struct SilentOptions: ParsableArguments {
    @Flag(help: "Ask the provider for a new token even if the cached one is still good.")
    var forceRefresh = false

    @Flag(
        help: ArgumentHelp(
            "Take the token from the cache, and never ask the provider.",
            discussion:
                "Without a token that is still good, the status is 3 (network.not_allowed), or 2 if only a sign-in "
                + "could give one. Not with --force-refresh, --claims or --watch."
        )
    )
    var cacheOnly = false

    @Flag(
        help: ArgumentHelp(
            "Take an expired token, with a warning, if no new one can be had without the network.",
            discussion: "Also with --cache-only. JSON has 'expiredFor' then."
        )
    )
    var allowExpired = false

    @Option(
        help: ArgumentHelp(
            "Renew a token that is good for less than this, 0 unless given.",
            discussion: "0 to 86400; never in the first tenth of a token's life. If the new token is no better, it is "
                + "printed with a warning.",
            valueName: "seconds"
        )
    )
    var minValidity: String?

    @Flag(
        name: .customLong("id-token"),
        help: ArgumentHelp(
            "The ID token, which says who signed in, in place of the access token.",
            discussion:
                "It is renewed if it has expired; the status is 2 if the provider does not renew ID tokens: then "
                + "'login' without --if-needed gets a new one."
        )
    )
    var idToken = false

    @Option(
        help: ArgumentHelp(
            "How long the provider may take in all, 30 unless given.",
            discussion:
                "After that, a token of the cache that is still good is taken, otherwise the status is 3. A running "
                + "refresh gets five more seconds.",
            valueName: "seconds"
        )
    )
    var timeout: String?

    /// Returns how long an answer may take.
    func wait() throws -> Duration { try Self.wait(timeout) }

    /// Returns how long an answer may take with an option `--timeout`.
    static func wait(_ timeout: String?) throws -> Duration {
        try timeout.map { try Given(text: $0, origin: "--timeout").seconds(from: 1) } ?? .seconds(30)
    }

    static func advice(on error: any Error) -> String? {
        if let advice = AgentAdvice.text(of: error) { return advice }
        if case AuthenticationError.Code.networkNotAllowed = error {
            return "To renew the token, leave out --cache-only. To take an expired token, give --allow-expired."
        }
        guard case AuthenticationError.Code.networkTimedOut = error else { return nil }
        return "To allow more time, give --timeout SECONDS."
    }
}
