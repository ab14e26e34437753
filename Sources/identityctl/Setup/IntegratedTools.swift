// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

// The registry: a line for each tool.
extension IntegratedTool: ExpressibleByArgument {
    static let all: [IntegratedTool] = [
        .git, .docker, .containers, .kubectl, .cargo, .bazel, .pip, .uv, .pnpm, .aws, .google, .claudeCode, .codex,
        .vscode,
        .cursor, .gemini, .opencode, .msmtp, .mutt, .neomutt, .mbsync, .aerc, .rclone, .netrc, .ssh,
    ]

    /// Programs that read another one's settings.
    private static let others = ["podman": "containers", "skopeo": "containers", "buildah": "containers"]

    init?(argument: String) {
        let name = Self.others[argument] ?? argument
        guard let tool = Self.all.first(where: { $0.name == name }) else { return nil }
        self = tool
    }

    /// - Throws: `UsageError` that names the tool that was meant.
    static func named(_ name: String) throws -> IntegratedTool {
        guard let tool = IntegratedTool(argument: name) else {
            throw UsageError(
                "'\(name.printable)' is no tool that can be set up."
                    + Suggestion.text(for: name, among: allValueStrings + others.keys.sorted())
            )
        }
        return tool
    }

    static var allValueStrings: [String] { all.map(\.name) }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
