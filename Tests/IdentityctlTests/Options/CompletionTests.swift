// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import identityctl

@Suite struct CompletionTests {
    private static let lines = Identityctl.completionScript(for: .fish).split(separator: "\n")

    /// Fish's completions have a line for each option.
    @Test(arguments: [
        ("cache", "memory"), ("log-level", "critical"), ("prompt", "select_account"), ("response-mode", "form_post"),
        ("to", "encrypted-file"), ("upload", "-rF"), ("output", "-rF"),
    ])
    func completesTheValuesOfAnOption(option: String, value: String) {
        let own = Self.lines.filter { $0.contains("-l '\(option)'") || $0.contains("-l \(option) ") }
        #expect(!own.isEmpty && own.allSatisfy { $0.contains(value) }, "\(own)")
    }
}
