// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Names a process so that another one can tell whether it is still alive.
package struct ProcessIdentity: Hashable, Sendable {
    package var bootID: String
    package var pidNamespace: String
    package var pid: Int
    /// Ticks since boot; tells a process from a later one with the same number.
    package var startTime: String

    package init(bootID: String, pidNamespace: String, pid: Int, startTime: String) {
        self.bootID = bootID
        self.pidNamespace = pidNamespace
        self.pid = pid
        self.startTime = startTime
    }

    /// Whether process numbers mean the same to both.
    package func sees(_ other: ProcessIdentity) -> Bool {
        bootID == other.bootID && pidNamespace == other.pidNamespace && bootID != "unknown" && pidNamespace != "unknown"
    }
}
