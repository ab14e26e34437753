// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A django-oauth-toolkit of one test's own, for what no other test may meet. It ends with this object.
final class OwnProvider: Sendable {
    private let state: TemporaryDirectory

    /// - Parameter setting: What the script that starts it reads from the environment, as `NAME=VALUE`.
    init(_ setting: String) throws {
        state = try TemporaryDirectory()
        try Self.run("env \(setting)", "start-dot", state)
    }

    deinit {
        try? Self.run("exec", "stop", state)  // nothing to be done about it
    }

    var provider: Provider {
        get throws { try Provider(.djangoOAuthToolkit, file: "\(state.path)/env") }
    }

    /// Runs a script to its end; they lie beside those of the people. Not with `Process`, which waits for the provider as
    /// well, since that inherits its sockets.
    private static func run(_ prefix: String, _ script: String, _ state: TemporaryDirectory) throws {
        let people = URL(filePath: try Settings.value(Person.Kind.form.rawValue)).deletingLastPathComponent()
        let path = people.deletingLastPathComponent().appending(path: "providers/\(script)").path
        let status = unsafe system("\(prefix) '\(path)' '\(state.path)' >/dev/null")
        guard status == 0 else { throw Failed(script: script, status: status) }
    }

    struct Failed: Error {
        let script: String
        let status: Int32
    }
}
