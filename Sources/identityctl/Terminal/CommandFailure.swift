// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A command that could not be started.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String
    /// Whether there is no such command. Otherwise it was found, and the system does not run it.
    let isNotFound: Bool
}
