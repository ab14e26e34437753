// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Another process of this very program, with its standard output read, and its standard error not.
final class ChildProcess: Sendable {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
    }

    private let process = Mutex<pid_t?>(nil)

    /// Runs this program with `arguments`, in an environment without the variables that stand in for options.
    ///
    /// Cancelling the task ends the process.
    static func run(_ arguments: [String]) async throws -> Outcome {
        let child = ChildProcess()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(with: Result { try child.runToEnd(arguments) })
                }
            }
        } onCancel: {
            child.process.withLock { process in
                if let process { _ = kill(process, SIGTERM) }
            }
        }
    }

    private func runToEnd(_ arguments: [String]) throws -> Outcome {
        var pipes: [Int32] = [0, 0]
        guard unsafe pipe(&pipes) == 0 else { throw SystemFailure("No pipe could be made", number: errno) }
        defer { close(pipes[0]) }
        for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        try start(arguments, output: pipes[1])
        let output = Self.readToEnd(pipes[0])
        return Outcome(status: wait(), output: output)
    }

    private func start(_ arguments: [String], output: Int32) throws {
        defer { close(output) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // What this process does with signals is not for the other.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var words = unsafe (["identityctl"] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        var variables = unsafe Self.variables.map { unsafe strdup($0) }
        unsafe variables.append(nil)
        defer {
            unsafe words.forEach { unsafe free($0) }
            unsafe variables.forEach { unsafe free($0) }
        }
        let number = process.withLock { process in
            var started: pid_t = 0
            let number = unsafe posix_spawn(&started, "/proc/self/exe", &actions, &attributes, words, variables)
            if number == 0 { process = started }
            return number
        }
        guard number == 0 else { throw SystemFailure("A second process could not be started", number: number) }
    }

    /// Waits for the end, after which nobody ends the process a second time.
    private func wait() -> Int32 {
        guard let started = process.withLock({ $0 }) else { return -1 }
        var status: Int32 = 0
        while unsafe waitpid(started, &status, 0) < 0, errno == EINTR {}
        process.withLock { $0 = nil }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    private static func readToEnd(_ descriptor: Int32) -> String {
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while output.count < 1 << 20 {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += buffer[..<count]
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static var variables: [String] {
        var variables: [String] = []
        var next = unsafe environ
        while let variable = unsafe next.pointee {
            let text = unsafe String(cString: variable)
            if !text.hasPrefix("IDENTITYCTL_") { variables.append(text) }
            unsafe next += 1
        }
        return variables
    }
}
