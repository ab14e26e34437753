// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Something that the system would not do.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    /// - Parameter description: What could not be done, and what to look at.
    init(_ description: String) {
        self.description = description
    }

    init(_ what: String, number: Int32) {
        description = "\(what): \(unsafe String(cString: strerror(number)))."
    }
}
