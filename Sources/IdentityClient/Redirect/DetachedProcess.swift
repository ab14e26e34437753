// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LoopbackHTTP

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
                case .failure(let failure): thread.yield(.notStarted(failure.code))
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

    private struct Failure: Error {
        var code: Int32
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
    ) -> Result<pid_t, Failure> {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        guard unsafe posix_spawn_file_actions_init(&actions) == 0 else { return .failure(Failure(code: ENOMEM)) }
        defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
        guard unsafe posix_spawnattr_init(&attributes) == 0 else { return .failure(Failure(code: ENOMEM)) }
        defer { _ = unsafe posix_spawnattr_destroy(&attributes) }

        var problems: [Int32] = [
            unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
            unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0),
            unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0),
        ]
        for descriptor in openDescriptors() {
            problems.append(unsafe posix_spawn_file_actions_addclose(&actions, descriptor))
        }
        // The program does not inherit our signal handling: nothing is blocked or ignored.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        problems.append(unsafe posix_spawnattr_setsigmask(&attributes, &signals))
        unsafe sigfillset(&signals)
        problems.append(unsafe posix_spawnattr_setsigdefault(&attributes, &signals))
        let newSession: Int32 = 0x80  // POSIX_SPAWN_SETSID, which the headers hide from Swift
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | newSession
        problems.append(unsafe posix_spawnattr_setflags(&attributes, Int16(flags)))
        if let problem = problems.first(where: { $0 != 0 }) { return .failure(Failure(code: problem)) }

        var process: pid_t = 0
        var problem: Int32 = 0
        for _ in 0..<50 {
            problem = unsafe withCStrings(arguments) { arguments in
                unsafe withCStrings(environment) { environment in
                    unsafe posix_spawn(&process, executable, &actions, &attributes, arguments, environment)
                }
            }
            // The file is just being written, by an update for example; try again a moment later.
            guard problem == ETXTBSY else { break }
            usleep(10_000)
        }
        return problem == 0 ? .success(process) : .failure(Failure(code: problem))
    }

    /// Our descriptors beyond the standard three. Most are closed on exec; some libraries leave others open.
    ///
    /// Unused numbers between them and some beyond are listed too, because another thread may open one meanwhile; below
    /// the limit, closing an unused number is no error.
    private static func openDescriptors() -> [Int32] {
        var limit = rlimit()
        let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        let highest = isKnown ? Int32(clamping: limit.rlim_cur) : 256
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let open = names?.compactMap { Int32($0) } ?? []
        let end = min(highest, 4096, (open.max() ?? 192) + 64)
        return Array(3..<max(3, end)) + open.filter { $0 >= end }
    }

    /// The strings as a C array that ends with a null.
    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() {
            unsafe (pointers + index).initialize(to: strdup(string))
        }
        unsafe (pointers + strings.count).initialize(to: nil)
        defer {
            for index in strings.indices { unsafe free(pointers[index]) }
            unsafe pointers.deallocate()
        }
        return unsafe body(pointers)
    }
}
