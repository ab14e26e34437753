// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Whose token.
struct AccountOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whose: an id or a username that 'identityctl accounts' lists.",
            valueName: "id-or-username"
        ),
        completion: AccountOption.completion
    )
    var account: String?

    static let completion = CompletionKind.shellCommand(usernames)

    /// A line that lists the usernames. A name is a provider's word, and some shells evaluate what completes: those with other signs than these
    /// are typed.
    static let usernames =
        "identityctl accounts 2>/dev/null </dev/null | cut -f1 | LC_ALL=C grep -x '[A-Za-z0-9][A-Za-z0-9@._+-]*'"
}
