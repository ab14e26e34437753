// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// An error for a command line that cannot be carried out as typed. The text says what is possible.
struct UsageError: Error, Hashable, CustomStringConvertible {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var description: String { message }
}
