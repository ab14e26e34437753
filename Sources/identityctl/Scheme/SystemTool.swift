// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A program of the desktop that is run to its end, without a shell and without output.
enum SystemTool {
    /// Runs `program`, looked up in the absolute directories of `$PATH`.
    ///
    /// - Returns: Whether the program succeeded within `timeout`; `nil` if it is not installed.
    /// - Throws: `CancellationError`; the program then goes on.
    static func run(
        _ program: String,
        _ arguments: [String],
        timeout: Duration = .seconds(10)
    ) async throws -> Bool? {
        let environment = LaunchEnvironment.current
        guard let executable = environment.executable(program) else { return nil }
        let outcome = try await DetachedProcess.run(
            executable,
            arguments: [program] + arguments,
            environment: environment.variables,
            timeout: timeout
        )
        return outcome == .exited(status: 0)
    }
}
