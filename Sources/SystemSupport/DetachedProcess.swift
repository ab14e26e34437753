// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Starts a program that may outlive this one.
package enum DetachedProcess {
    package enum Outcome: Hashable, Sendable {
        /// The program still runs after the time-out.
        case running
        case exited(status: Int32)
        case signalled(Int32)
        /// The system's error number.
        case notStarted(Int32)
    }

    /// Starts `executable` in its own session and without our descriptors, and waits for an early end.
    ///
    /// A thread waits for the end, however late, so that no zombie stays behind.
    /// - Throws: `CancellationError`; the program then goes on.
    package static func run(
        _ executable: String,
        arguments: [String],
        environment: [String: String],
        timeout: Duration
    ) async throws -> Outcome {
        try Task.checkCancellation()
        let (outcomes, thread) = AsyncStream.makeStream(of: Outcome.self)
        do {
            try DetachedThread.start {
                switch spawn(executable, arguments, environment.map { "\($0.key)=\($0.value)" }) {
                case .success(let process): thread.yield(end(of: process))
                case .failure(let failure): thread.yield(.notStarted(failure.value))
                }
                thread.finish()
            }
        } catch {
            return .notStarted(EAGAIN)
        }
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask {
                for await outcome in outcomes { return outcome }
                throw CancellationError()
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                return .running
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .running
        }
    }

    private static func end(of process: pid_t) -> Outcome {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            // Other code has taken the status, or `SIGCHLD` is ignored: this counts as success.
            guard errno == EINTR else { return .exited(status: 0) }
        }
        return status & 0x7F == 0 ? .exited(status: status >> 8 & 0xFF) : .signalled(status & 0x7F)
    }

    private static func spawn(
        _ executable: String,
        _ arguments: [String],
        _ environment: [String]
    ) -> Result<pid_t, ProcessStart.ErrorNumber> {
        var start = ProcessStart()
        start.open(STDIN_FILENO, "/dev/null", O_RDONLY)
        start.open(STDOUT_FILENO, "/dev/null", O_WRONLY)
        start.open(STDERR_FILENO, "/dev/null", O_WRONLY)
        for descriptor in descriptorsToClose() { start.close(descriptor) }
        // The program does not inherit our signal handling.
        start.resetSignals()
        start.leadSession()
        return start.start(CText(executable), arguments.map { CText($0) }, environment.map { CText($0) })
    }

    /// Our descriptors beyond the standard three. Most are closed on exec; some libraries leave others open.
    ///
    /// Unused numbers between them and some beyond are listed too, because another thread may open one meanwhile; below
    /// the limit, closing an unused number is no error.
    private static func descriptorsToClose() -> [Int32] {
        var limit = rlimit()
        let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        let highest = isKnown ? Int32(clamping: limit.rlim_cur) : 256
        let open = SystemCall.openDescriptors ?? []
        let end = min(highest, 4096, (open.max() ?? 192) + 64)
        return Array(3..<max(3, end)) + open.filter { $0 >= end }
    }
}
