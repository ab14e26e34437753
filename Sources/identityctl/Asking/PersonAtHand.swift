// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

/// Asks the person for a yes at the desktop; where that is not possible, by the program in `SSH_ASKPASS`, as ssh-agent does;
/// or else at the terminal.
struct PersonAtHand: Sendable {
    let desktop: ShowNotice
    /// The program in `SSH_ASKPASS`, with or without a path.
    let program: String?
    /// The variable `PATH`.
    let directories: String?
    /// Shows a text at the terminal, and returns the line that is typed.
    let terminal: @Sendable (String) async throws -> String

    /// Asks a question whose yes is the button `allow`, as `ShowNotice` describes.
    func ask(_ notice: Notice, _ limit: Duration) async throws -> String? {
        let end = ContinuousClock.now + limit
        var reasons: [String] = []
        for way in [desktop, askProgram, askTerminal] {
            do {
                return try await way(notice, end - .now)
            } catch let nobody as NoPersonToAsk {
                reasons.append(nobody.reason)
            }
        }
        throw NoPersonToAsk(reason: reasons.joined(separator: "; "))
    }

    /// - SeeAlso: ssh-askpass(1) and `SSH_ASKPASS_PROMPT`; `ask_permission` in the sources of ssh-agent.
    private func askProgram(_ notice: Notice, _ limit: Duration) async throws -> String? {
        guard let program else { throw NoPersonToAsk(reason: "SSH_ASKPASS is not set") }
        guard !SystemCall.hasRaisedRights else {
            throw NoPersonToAsk(reason: "a program with rights that its caller lacks runs no SSH_ASKPASS")
        }
        let variables = CommandEnvironment.variables(
            CText.environment,
            withholding: Variables.secrets,
            setting: ["SSH_ASKPASS_PROMPT"],
            to: "confirm"
        )
        let words = [CText(program), CText("\(notice.title)\n\(notice.text)")]
        do {
            let found = try Program(words, in: CText(directories ?? "/usr/local/bin:/usr/bin:/bin"))
            return try await withDeadline(limit) {
                try await found.run(variables, within: .seconds(3600)).isYes ? "allow" : nil
            }
        } catch let failure as CommandFailure {
            throw NoPersonToAsk(reason: "SSH_ASKPASS: \(failure)")
        } catch let failure as SystemFailure {
            throw NoPersonToAsk(reason: "SSH_ASKPASS: \(failure)")
        }
    }

    private func askTerminal(_ notice: Notice, _ limit: Duration) async throws -> String? {
        try await withDeadline(limit) {
            do {
                return try await terminal("\(notice.title) \(notice.text) Type yes to allow it") == "yes"
                    ? "allow" : nil
            } catch AuthenticationError.Code.userCancelled {
                return nil  // the end of the input
            }
        }
    }
}

extension ProgramOutcome {
    /// Whether the person said yes, as ssh-agent reads it: the program succeeded, and the line that it wrote is empty or `yes`.
    ///
    /// A program that does not know `SSH_ASKPASS_PROMPT` shows a field for a text. The person types *no* there, and the program
    /// succeeds.
    fileprivate var isYes: Bool {
        let line = output.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return status == 0 && (line.isEmpty || String(decoding: line, as: UTF8.self).lowercased() == "yes")
    }
}
