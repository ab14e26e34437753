// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// The library against identity providers from other projects.
///
/// `Scripts/test` starts them and sets `IDENTITY_E2E=1`. The tests then fail if anything that they need is missing.
/// Without the variable they are skipped, because a plain `swift test` has no providers.
///
/// One test at a time: glewlwyd's SQLite returns errors if several people sign in at once.
@Suite(.serialized, .tags(.endToEnd), .timeLimit(.minutes(1)), .enabled(if: Settings.areExpected, "run Scripts/test"))
enum EndToEnd {}

extension Tag {
    /// Marks tests that sign in at real providers, which `Scripts/test` starts.
    @Tag static var endToEnd: Self
}

/// The settings that `Scripts/test` passes in the environment.
enum Settings {
    static let areExpected = environment["IDENTITY_E2E"] == "1"

    static func value(_ name: String) throws -> String {
        guard let value = environment[name], !value.isEmpty else { throw MissingSetting(name: name) }
        return value
    }

    private static let environment = ProcessInfo.processInfo.environment
}

/// The error for a setting that `Scripts/test` should have passed.
struct MissingSetting: Error {
    let name: String
}
