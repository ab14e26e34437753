// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

extension Session {
    /// Writes a token, plainly or as JSON, and warns where it could not be kept.
    ///
    /// - Parameters:
    ///   - idToken: Stands in for the access token, and beside it in JSON.
    ///   - options: Where they are given and the tokens are kept, no token is written to a terminal, which remembers what it
    ///     showed; the command that prints it is said instead.
    ///   - rests: Whether the cache outlives the program.
    func hand(
        over result: AuthenticationResult,
        _ idToken: IDToken? = nil,
        sparing options: SharedOptions? = nil,
        rests: Bool
    ) async throws {
        var isPersisted = true
        if case .failed(let failure) = result.persistence {
            // What could not be written is tried once more.
            isPersisted = await finishPendingWork()
            if !isPersisted {
                let reason = PlainReport.withReference(failure)
                console.line("Warning: the tokens could not be kept for the next time. \(reason)")
            }
        }
        if let options, isPersisted && rests, !isJSON, StandardStream.output.isTerminal {
            return console.line("The access token is not shown here. To print it, run: \(options.command("token"))")
        }
        if isJSON {
            var report = JSONReport.result(result, persisted: isPersisted && rests)
            if let idToken {
                report["idToken"] = .string(idToken.text)
                report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
            }
            try self.result(report.line + "\n")
        } else {
            try self.result((idToken?.text ?? result.accessToken) + "\n")
        }
    }
}
