// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import identityctl

@Suite struct ShortHelpTests {
    private static func commands(_ command: any ParsableCommand.Type = Identityctl.self) -> [any ParsableCommand.Type] {
        command.configuration.subcommands.flatMap { [$0] + commands($0) }
            .filter { $0.configuration.shouldDisplay && $0.configuration.subcommands.isEmpty }
    }

    @Test(arguments: commands().indices) func showsTenOptionsAndTwoExamplesFirst(index: Int) {
        let whole = Identityctl.helpMessage(for: Self.commands()[index])
        let page = ShortHelp.firstPage(of: whole)
        let options = page.split(separator: "\n").filter { $0.hasPrefix("  -") }
        #expect(options.count <= 13, "\(page)")
        #expect(options.contains { $0.contains("--help") })
        // Each shown option is one of the command's, and the rest is counted.
        let all = whole.split(separator: "\n").filter { $0.hasPrefix("  -") }
        #expect(options.allSatisfy(all.contains))
        #expect(all.count == options.count || page.contains("\(all.count - options.count) more options"))
    }

    @Test func hasTwoExamplesAndLeavesTheDiscussionOut() {
        let page = ShortHelp.firstPage(of: Identityctl.helpMessage(for: LoginCommand.self))
        #expect(page.split(separator: "\n").filter { $0.hasPrefix("  identityctl login ") }.count == 2)
        #expect(page.contains("--device-code") && !page.contains("--ui-locales") && !page.contains("--start"))
        #expect(!page.contains("two commands"))
        #expect(page.hasSuffix("identityctl login --help-all"))
    }

    @Test func showsTheCommandsInGroupsAfterThreeExamples() {
        let page = ShortHelp.firstPage(of: Identityctl.helpMessage())
        let lines = page.split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("  identityctl ") }.count == 3)
        #expect(
            lines.filter { $0.hasSuffix(":") && $0 == $0.uppercased() }
                == ["EXAMPLES:", "SIGN IN:", "USE TOKENS:", "SET PROGRAMS UP:", "LOOK AFTER IT:"]
        )
        for command in Identityctl.configuration.subcommands where command.configuration.shouldDisplay {
            let name = command.configuration.commandName ?? ""
            #expect(lines.contains { $0.hasPrefix("  \(name) ") }, "\(name)")
        }
        #expect(page.contains("man identityctl-guide") && !page.contains("126 and 127"))
        #expect(lines.allSatisfy { $0.count <= 100 })
    }
}
