// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// The option that chooses the account.
struct AccountOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The account: an id or a username that 'identityctl accounts' lists.",
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

/// Options that choose the token.
struct TokenOptions: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "A scope the token must have. Repeatable.",
            discussion:
                "Several are separated by spaces. openid, profile, email and offline_access do not change what a "
                + "token permits: if a sign-in did not bring one whose claims are wanted, a warning says so.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("A claims request or challenge.", valueName: "json"))
    var claims: String?
}

extension TokenOptions {
    func scopes(_ environment: Variables) throws -> Set<Scope> {
        Set(try environment.words("scope", scopes).map(Scope.init(rawValue:)))
    }

    func claims(_ environment: Variables) throws -> String? {
        guard let given = try environment.given("claims", claims) else { return nil }
        do {
            _ = try JSONObject(parsing: Array(given.text.utf8))
        } catch {
            throw given.error("this is not a JSON object.")
        }
        return given.text
    }
}
