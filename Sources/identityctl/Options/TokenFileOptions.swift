// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for a token in a file.
struct TokenFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file for the token, in place of standard output. Only its owner can read it.",
            discussion:
                "Mode 0600; an older file is replaced as a whole. A directory, a link, a device or another user's "
                + "file is refused. With --json, standard output says that it is there.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(
        help: ArgumentHelp(
            "Renew the token in the file before it ends, until a signal, and then remove the file.",
            discussion: "Status 0 after a signal. See 'man identityctl-guide', Use a token in a script."
        )
    )
    var watch = false
}

extension TokenFileOptions {
    /// - Throws: `UsageError` for `--watch` alone.
    var isGiven: Bool {
        get throws {
            guard output != nil || !watch else {
                throw UsageError("--watch: no file is named. Give --output FILE.")
            }
            return output != nil
        }
    }

    /// - Throws: `UsageError` for a name that is none of a file.
    func path() throws -> String {
        guard let output, !output.isEmpty, output != "-" else {
            throw UsageError("--output: name a file. Without the option, standard output gets the token.")
        }
        return output
    }
}
