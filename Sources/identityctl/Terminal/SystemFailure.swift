// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// An operation that the system refused.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String
    /// Whether the reader of the written bytes is gone.
    let isBrokenPipe: Bool

    /// - Parameter description: The operation that failed, and the thing to look at.
    init(_ description: String) {
        self.description = description
        isBrokenPipe = false
    }

    init(_ what: String, number: Int32) {
        description = "\(what): \(unsafe String(cString: strerror(number)))."
        isBrokenPipe = number == EPIPE
    }
}
