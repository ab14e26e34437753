// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What the person typed cannot be done as typed; the text says what can.
struct UsageError: Error, Hashable, CustomStringConvertible {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var description: String { message }
}
