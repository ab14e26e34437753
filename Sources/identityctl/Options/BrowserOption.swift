// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The option that chooses the browser.
struct BrowserOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Run this with the address as its last argument, without a shell.",
            discussion: "The command is split at spaces. The address is used once, and redirects to the provider. The "
                + "command does not get IDENTITYCTL_CLIENT_SECRET.",
            valueName: "command"
        )
    )
    var browser: String?

    /// Returns the words of `--browser`, or `nil` for the system's browser.
    func command(_ environment: Variables) throws -> [String]? {
        guard let given = try environment.given("browser", browser) else { return nil }
        guard !given.words.isEmpty else { throw given.error("the value is empty.") }
        return given.words
    }
}
