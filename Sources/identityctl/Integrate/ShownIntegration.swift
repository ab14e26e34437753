// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A tool whose file has a part for each account. Which one is meant only a person knows, so that the lines are shown, and none is
/// written.
struct ShownIntegration: Integration {
    let home: Home
    /// The files that the tool looks for, the first one first. A new one would be the first.
    let paths: [String]
    /// The sentence before the lines, with the path in place of `FILE`.
    let introduction: String
    /// The words after this program's name in the command that the tool runs.
    var words = "token"
    /// Returns the lines that have the tool run a command, which prints the token.
    let lines: @Sendable (_ command: String) -> [String]
    /// Returns the reason why the tool gets no token all the same.
    var problem: @Sendable () -> String? = { nil }

    var link: HelperLink? { nil }

    private var path: String { paths.first(where: ConfigFile.exists) ?? paths[0] }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let profile = subject.profile.map { " --profile \($0)" } ?? ""
        let parts = introduction.split(separator: "FILE", omittingEmptySubsequences: false)
        return IntegrationPlan(
            changes: [],
            notes: [problem()].compactMap(\.self),
            advice: [parts.joined(separator: path.printable)],
            lines: lines("\(Home.line([home.command])) \(words)\(profile)")
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let uses = try await uses().filter { subject == nil || $0.profile == subject?.profile?.text }
        return IntegrationPlan(
            changes: [],
            advice: uses.map { "Remove from \(path.printable) what asks for the token, in line: \($0.label.printable)" }
        )
    }

    func uses() async throws -> [IntegrationUse] {
        let text = String(decoding: try ConfigFile(path).bytes ?? [], as: UTF8.self)
        let command = words.split(separator: " ").map(String.init)
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            let words = line.split { $0.isWhitespace || "\"'`=".contains($0) }.map(String.init)
            guard words.first?.hasPrefix("#") == false,
                let program = words.firstIndex(where: { $0.split(separator: "/").last == "identityctl" }),
                words.dropFirst(program + 1).starts(with: command)
            else { return nil }
            let index = words.firstIndex(of: "--profile").map { $0 + 1 }
            return IntegrationUse(
                label: words.joined(separator: " "),
                profile: index.flatMap { $0 < words.count ? words[$0] : nil },
                obstacle: home.obstacle(toStarting: words[program]),
                problem: problem()
            )
        }
    }
}
