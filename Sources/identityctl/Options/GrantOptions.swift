// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for a sign-in with a grant of another kind, without a page.
struct GrantOptions: ParsableArguments {
    @Option(
        name: .customLong("grant"),
        help: ArgumentHelp(
            "Sign in without a page, with this grant: an assertion (urn:ietf:params:oauth:grant-type:jwt-bearer), or one of the "
                + "provider's own.",
            discussion: "An assertion in SAML has urn:ietf:params:oauth:grant-type:saml2-bearer (RFC 7522, RFC 7523).",
            valueName: "type"
        )
    )
    var type: String?

    @Option(
        name: .customLong("grant-parameter-file"),
        help: ArgumentHelp(
            "With --grant: a parameter of the grant, and the file with its value; - for standard input. Repeatable.",
            discussion:
                "The file has the value and nothing else. A parameter that is no secret can be a --token-parameter.",
            valueName: "name=file"
        )
    )
    var parameterFiles: [String] = []

    /// The grants of other commands and options.
    private static let others = [
        "authorization_code": "Leave --grant out.",
        "urn:ietf:params:oauth:grant-type:device_code": "Give --device-code.",
        "refresh_token": "Run: identityctl import --refresh-token-file FILE",
        "urn:ietf:params:oauth:grant-type:token-exchange": "Run: identityctl exchange",
    ]

    func validate() throws {
        guard type != nil || parameterFiles.isEmpty else {
            throw ValidationError("--grant-parameter-file: there is no --grant that the parameter is for.")
        }
        if let type, let advice = Self.others[type.lowercased()] {
            throw ValidationError("--grant: '\(type)' has a way of its own. \(advice)")
        }
    }

    /// Returns the parameters with the values in the files.
    ///
    /// - Throws: `UsageError`, `SystemFailure`, `CancellationError`.
    func parameters() async throws -> [String: String] {
        var parameters: [String: String] = [:]
        guard parameterFiles.filter({ $0.hasSuffix("=-") }).count < 2 else {
            throw UsageError("--grant-parameter-file: standard input has one value. Give a file for the other one.")
        }
        for text in parameterFiles {
            let given = Given(text: text, origin: "--grant-parameter-file")
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw given.error("give NAME=FILE.") }
            guard parameters[parts[0]] == nil else { throw given.error("'\(parts[0].printable)' is given twice.") }
            parameters[parts[0]] = try await TokenInput.token(
                in: Given(text: parts[1], origin: given.origin)
            )
        }
        return parameters
    }
}
