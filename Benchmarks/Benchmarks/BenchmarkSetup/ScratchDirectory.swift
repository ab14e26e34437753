// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
package import IdentityMSALCaches

/// A directory that is removed with this object.
package final class ScratchDirectory: Sendable {
    package let path: String

    package init() {
        path = FileManager.default.temporaryDirectory.appending(path: "identity-benchmarks-\(UUID().uuidString)").path
    }

    /// Returns a cache in a file as programs with other libraries have it, in this directory.
    package func shared() throws -> SharedMSALCache {
        let others = FileTokenCache(directory: path + "/others")
        return try SharedMSALCache(.file(path + "/msal.json"), clientID: "test-client", fallback: others)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Returns the processor time of the whole process, in nanoseconds.
package func processorTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
