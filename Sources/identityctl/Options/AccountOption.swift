// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The option that chooses the account.
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

    /// A shell command that lists the usernames for completion. A provider chooses the names, and some shells evaluate
    /// completions. The list therefore leaves out names with other characters than these, and the person types them.
    static let usernames =
        "identityctl accounts 2>/dev/null </dev/null | cut -f1 | LC_ALL=C grep -x '[A-Za-z0-9][A-Za-z0-9@._+-]*'"
}
