// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// The library against identity providers that nobody here wrote.
///
/// `Scripts/test` starts them and sets `IDENTITY_E2E=1`. Then everything that these tests need must be there: what is
/// missing fails them. Without it they are skipped, because a plain `swift test` has no providers.
///
/// One test at a time: glewlwyd's SQLite answers with errors when several people are busy at once.
@Suite(.serialized, .tags(.endToEnd), .timeLimit(.minutes(1)), .enabled(if: Settings.areExpected, "run Scripts/test"))
enum EndToEnd {}

extension Tag {
    /// Signs in at real providers that `Scripts/test` starts.
    @Tag static var endToEnd: Self
}

/// What `Scripts/test` says in the environment.
enum Settings {
    static let areExpected = environment["IDENTITY_E2E"] == "1"

    static func value(_ name: String) throws -> String {
        guard let value = environment[name], !value.isEmpty else { throw MissingSetting(name: name) }
        return value
    }

    private static let environment = ProcessInfo.processInfo.environment
}

/// A setting that `Scripts/test` should have made.
struct MissingSetting: Error {
    let name: String
}
