// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Whose token.
struct AccountOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Whose: an id or a username that 'identityctl accounts' lists.", valueName: "id-or-username")
    )
    var account: String?
}
