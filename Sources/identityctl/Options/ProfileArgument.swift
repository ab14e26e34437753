// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The name of the profile that a command is about.
struct ProfileArgument: ParsableArguments {
    static let completion = CompletionKind.shellCommand("identityctl profile list 2>/dev/null </dev/null | cut -f1")

    @Argument(help: ArgumentHelp("The profile's name.", valueName: "name"), completion: Self.completion)
    var name: String

    func profile() throws -> ProfileName { try ProfileName(Given(text: name, origin: "NAME")) }
}
