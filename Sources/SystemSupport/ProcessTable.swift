// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Information about processes from `/proc`, and the boot clock.
package enum ProcessTable {
    /// This process.
    package static func current() -> ProcessIdentity {
        // A forked child has another number, and must not be mistaken for its parent.
        atFirst.pid == Int(getpid()) ? atFirst : lookUp()
    }

    private static let atFirst = lookUp()

    private static func lookUp() -> ProcessIdentity {
        ProcessIdentity(
            bootID: text(of: "/proc/sys/kernel/random/boot_id") ?? "unknown",
            pidNamespace: namespaces ?? "unknown",
            pid: Int(getpid()),
            startTime: status(of: "self")?.startTime ?? "unknown"
        )
    }

    /// The pid namespace, and the time namespace unless it is the system's first: in another one, boot clock and start
    /// times are different numbers.
    /// - SeeAlso: [time_namespaces(7)](https://man7.org/linux/man-pages/man7/time_namespaces.7.html)
    private static var namespaces: String? {
        guard showsOwnNamespace, let process = link("/proc/self/ns/pid") else { return nil }
        // Linux has time namespaces since 5.6, and the number of the first is the same everywhere.
        guard let time = link("/proc/self/ns/time"), time != "time:[4026531834]" else { return process }
        return "\(process) \(time)"
    }

    /// Whether the numbers in `/proc` are those of this process's namespace.
    ///
    /// In a namespace without its own `/proc` (`unshare --pid`, `bwrap --unshare-pid`, a container with the host's
    /// `/proc`), the numbers in `/proc` belong to other processes.
    /// - SeeAlso: [pid_namespaces(7)](https://man7.org/linux/man-pages/man7/pid_namespaces.7.html)
    private static var showsOwnNamespace: Bool {
        guard link("/proc/self") == "\(getpid())" else { return false }
        // The same number in both namespaces may be chance: then the kernel lists both.
        let lines = text(of: "/proc/self/status")?.split(separator: "\n") ?? []
        let numbers = lines.first { $0.hasPrefix("NSpid:") }?.split(whereSeparator: \.isWhitespace).count
        return numbers.map { $0 == 2 } ?? true
    }

    /// Whether a process of this process namespace has ended. A killed child that was not reaped still has an entry:
    /// its state is `Z` or `X`, and it has no other threads. If only the main thread has ended, the other threads still
    /// run.
    ///
    /// `/proc` may hide living processes (`hidepid=2`). Only the kernel knows these, and cannot tell a process from a
    /// later process with the same number: such a process counts as alive.
    package static func isDead(_ process: ProcessIdentity) -> Bool {
        guard let status = status(of: String(process.pid)) else {
            // Numbers from 0 down name groups of processes.
            guard let number = pid_t(exactly: process.pid), number > 0 else { return true }
            return kill(number, 0) != 0 && errno == ESRCH
        }
        return status.isOver || status.startTime != process.startTime
    }

    /// The time at which a process of this process namespace was started, in ticks since boot.
    package static func startTime(of process: Int) -> String? { status(of: String(process))?.startTime }

    /// The process that started a process of this process namespace, or that adopted it.
    package static func parent(of process: Int) -> Int? { status(of: String(process))?.parent }

    /// Milliseconds since boot, including sleep.
    package static func bootTime() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The fields after the command's name, which may contain any character.
    private static func status(of process: String) -> (isOver: Bool, parent: Int?, startTime: String)? {
        guard let text = text(of: "/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 19 else { return nil }
        let hasThreads = Int(fields[17]).map { $0 > 1 } ?? false
        return (fields[0] == "X" || fields[0] == "Z" && !hasThreads, Int(fields[1]), String(fields[19]))
    }

    private static func text(of path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return nil }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    private static func link(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = unsafe bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return unsafe readlink(path, base, bytes.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}

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

/// The system's name of a process.
package enum ProcessName {
    /// The name of the program, at most 15 bytes; `nil` if the process is gone or hidden.
    package static func of(_ process: UInt32) -> String? {
        // The name is only for people: on any failure it is unknown.
        guard let proc = try? Descriptor.directory("/proc"), let directory = try? proc.directory("\(process)"),
            let bytes = try? directory.file("comm")?.read(atMost: 64)
        else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
