// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import Synchronization
import SystemSupport
import Testing

/// The built tool with listening sockets that this process holds, as systemd does.
final class ActivatedTool: Sendable {
    let identifier: pid_t
    private let errorPath: String
    private let hasEnded = Mutex(false)

    /// - Parameter file: The path of a file for its standard error.
    init(
        _ arguments: [String],
        _ variables: [String: String],
        _ sockets: [(name: String, socket: SharedDescriptor)],
        errorsIn file: String
    ) throws {
        errorPath = file
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        var start = ProcessStart()
        for number in [STDIN_FILENO, STDOUT_FILENO] { start.open(number, "/dev/null", O_RDWR) }
        start.open(STDERR_FILENO, file, O_WRONLY | O_APPEND)
        // High numbers first, so that none takes the place of another one.
        let high = sockets.map { fcntl($0.socket.raw, F_DUPFD_CLOEXEC, 200) }
        defer { for number in high { close(number) } }
        for (number, place) in zip(high, Int32(3)...) { start.duplicate(number, to: place) }
        let inherited = ProcessInfo.processInfo.environment.filter { ["PATH", "LD_LIBRARY_PATH"].contains($0.key) }
        let passed = ["LISTEN_FDS": "\(sockets.count)", "LISTEN_FDNAMES": sockets.map(\.name).joined(separator: ":")]
        let environment = inherited.merging(variables) { $1 }.merging(passed) { $1 }
        let words = ["sh", "-c", "export LISTEN_PID=$$; exec \"$0\" \"$@\"", try Tool.executable.path] + arguments
        identifier = try start.start(
            CText("/bin/sh"),
            words.map { CText($0) },
            environment.map { CText("\($0.key)=\($0.value)") }
        ).get()
    }

    /// Waits for the process as well: an ended one that stays would hide the ends of the tests' other processes.
    deinit {
        guard !hasEnded.withLock({ $0 }) else { return }
        kill(identifier, SIGKILL)
        var status: Int32 = 0
        _ = unsafe waitpid(identifier, &status, 0)
    }

    /// Its standard error so far.
    var errors: String { (try? String(contentsOfFile: errorPath, encoding: .utf8)) ?? "" }

    /// Waits for its end.
    ///
    /// - Returns: The exit status.
    func status() async throws -> Int32 {
        var status: Int32 = 0
        let isOver = try await eventually { unsafe waitpid(self.identifier, &status, WNOHANG) == self.identifier }
        try #require(isOver, "\(errors)")
        hasEnded.withLock { $0 = true }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}
