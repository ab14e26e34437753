// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging

/// Options for the form of results, messages and logs.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Write the result, and an error, as JSON.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The lowest level that is logged: trace, debug, info, notice, warning, error or critical.",
            valueName: "level"
        ),
        completion: .list(Logger.Level.allCases.map(\.rawValue))
    )
    var logLevel: String?
}

extension OutputOptions {
    /// Returns the lowest level that is logged: `warning` by default.
    func level(_ environment: Variables) throws -> Logger.Level {
        guard let given = try environment.given("log-level", logLevel) else { return .warning }
        guard let level = Logger.Level(rawValue: given.text.lowercased()) else {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw given.error("'\(given.text.printable)' is not a level. Possible are: \(levels).")
        }
        return level
    }
}
