// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The process at the other end of a connection, as the kernel knows it.
struct AgentPeer: Hashable, Sendable {
    let process: Int32
    let user: UInt32

    init?(of socket: SharedDescriptor) {
        guard let peer = UnixSocket.peer(of: socket) else { return nil }
        (process, user) = peer
    }

    /// The program that asks. A process that is this tool asks for the program that started it.
    var caller: AgentCaller {
        let tool = AgentCaller(process: process)
        var caller = tool
        // 'identityctl exec' may have started what asks.
        for _ in 0..<4 where caller.isTool {
            guard let parent = ProcessTable.parent(of: Int(caller.process)), parent > 1 else { return tool }
            caller = AgentCaller(process: Int32(clamping: parent))
        }
        guard !caller.isTool, caller.program != nil else { return tool }
        caller.asksByTool = caller != tool
        return caller
    }
}

/// A program that asks the agent, for people and for the memory of their answers: the process may have ended, and another may
/// have its number.
struct AgentCaller: Hashable, Sendable {
    /// The path of the program's file in the program's own view of the file system; `nil` if the kernel does not tell.
    var program: String?
    /// The device and inode of the file. The path may have got another file since.
    var file: [UInt64] = []
    var process: Int32
    /// The time at which the process was started, in the kernel's ticks since the computer was. The number of a process that
    /// has ended comes again.
    var started: String?
    /// Whether it has this tool ask.
    var asksByTool = false

    /// The programs that pass on requests of another machine.
    private static let forwarders: Set = ["ssh", "sshd", "sshd-session", "dbclient", "dropbear"]

    /// Whether the program passes on the requests of another machine, or may do so: the kernel tells nothing of `sshd`.
    var isForwarder: Bool { name.map(Self.forwarders.contains) ?? true }

    fileprivate var isTool: Bool { name == "identityctl" }

    private var name: String? { program?.split(separator: "/").last.map(String.init) }

    /// The caller without what differs from process to process of one program. Each connection of ssh leads elsewhere, so that
    /// a forwarder stays the process that it is.
    var remembered: AgentCaller {
        guard !isForwarder else { return self }
        var caller = self
        (caller.process, caller.started) = (0, nil)
        return caller
    }
}

extension AgentCaller {
    init(process: Int32) {
        let link = "/proc/\(process)/exe"
        program = Self.target(of: link).map(Self.withoutMark)
        self.process = process
        started = ProcessTable.startTime(of: Int(process))
        var status = stat()
        if unsafe stat(link, &status) == 0 { file = [UInt64(status.st_dev), UInt64(status.st_ino)] }
    }

    /// The path of a program without the kernel's mark of a file that was replaced, as an update replaces it.
    static func withoutMark(_ path: String) -> String {
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    private static func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = unsafe bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return unsafe readlink(link, base, bytes.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self).printable : nil
    }
}
