// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Something that the system would not do.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String
    /// Whether the reader of what was written is gone.
    let isBrokenPipe: Bool

    /// - Parameter description: What could not be done, and what to look at.
    init(_ description: String) {
        self.description = description
        isBrokenPipe = false
    }

    init(_ what: String, number: Int32) {
        description = "\(what): \(unsafe String(cString: strerror(number)))."
        isBrokenPipe = number == EPIPE
    }
}
