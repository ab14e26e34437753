// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import OAuthWire

/// A form of the file with a token.
enum TokenFileFormat: String, ExpressibleByArgument, CaseIterable { case token, hosts = "netrc" }

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

    @Option(
        help: ArgumentHelp(
            "The form of the file: token, or netrc for programs that look for a password by a host.",
            discussion:
                "With netrc, each host of the profile's 'serves' has a line with the profile's 'username', or 'oauth2'.",
            valueName: "form"
        )
    )
    var format: TokenFileFormat?

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
            guard output != nil || !watch && format == nil else {
                throw UsageError("\(watch ? "--watch" : "--format"): no file is named. Give --output FILE.")
            }
            return output != nil
        }
    }

    /// Returns what makes the file's text of a token.
    ///
    /// - Throws: `UsageError` if no host is known for the lines of a netrc file.
    func text(_ environment: Variables) throws -> @Sendable (String) -> String {
        guard format == .hosts else { return { $0 } }
        let served = try environment.words("serves", []).compactMap { WebAddress($0)?.host }
        let hosts: [String] = served.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        guard !hosts.isEmpty else {
            throw UsageError(
                "--format netrc: the profile serves no address. Run: identityctl profile set NAME serves+=https://git.example.com"
            )
        }
        let name = try environment.given("username", nil)?.text ?? "oauth2"
        guard name.utf8.areVisible else { throw UsageError("--format netrc: the username has blanks.") }
        return { token in hosts.map { "machine \($0) login \(name) password \(token)\n" }.joined() }
    }

    /// - Throws: `UsageError` for a name that is none of a file.
    func path() throws -> String {
        guard let output, !output.isEmpty, output != "-" else {
            throw UsageError("--output: name a file. Without the option, standard output gets the token.")
        }
        return output
    }
}
