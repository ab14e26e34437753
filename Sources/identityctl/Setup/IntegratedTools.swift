// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

// The registry: a line for each tool.
extension IntegratedTool: ExpressibleByArgument {
    static let all: [IntegratedTool] = [
        .git, .docker, .containers, .kubectl, .cargo, .bazel, .pip, .uv, .pnpm, .aws, .google, .claudeCode, .codex,
        .vscode,
        .cursor, .gemini, .opencode, .msmtp, .mutt, .neomutt, .mbsync, .aerc, .rclone,
    ]

    init?(argument: String) {
        guard let tool = Self.all.first(where: { $0.name == argument }) else { return nil }
        self = tool
    }

    static var allValueStrings: [String] { all.map(\.name) }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
