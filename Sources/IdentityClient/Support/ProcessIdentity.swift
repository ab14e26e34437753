// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A process's identity, by which another process can tell whether it is still alive.
package struct ProcessIdentity: Hashable, Sendable {
    package var bootID: String
    /// The namespace of the process's number, and that of its boot clock if it is not the system's own.
    package var pidNamespace: String
    package var pid: Int
    /// Ticks since boot; distinguishes a process from a later process with the same number.
    package var startTime: String

    package init(bootID: String, pidNamespace: String, pid: Int, startTime: String) {
        self.bootID = bootID
        self.pidNamespace = pidNamespace
        self.pid = pid
        self.startTime = startTime
    }

    /// Whether process numbers and the boot clock mean the same for both processes.
    package func sees(_ other: ProcessIdentity) -> Bool {
        bootID == other.bootID && pidNamespace == other.pidNamespace && bootID != "unknown" && pidNamespace != "unknown"
    }
}
