// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A program's end, and the text that it wrote.
struct ProgramOutcome: Hashable, Sendable {
    /// The exit status, or 128 and the number of the signal that ended the program.
    var status: Int32
    var output: [UInt8]
    var errors: [UInt8]

    /// The first line of standard error that has text, for a person.
    var firstError: String? {
        let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.first { !$0.allSatisfy(\.isWhitespace) }.map { String($0.prefix(300)).printable }
    }
}

extension Program {
    /// The maximum number of bytes that a program may write to one stream.
    private static let maximumOutput = 4 << 20

    /// Runs the program to its end, with nothing to read. It and the programs that it starts are ended after `limit`, and
    /// if the task is cancelled.
    ///
    /// - Throws: `CommandFailure`, `SystemFailure`, `CancellationError`.
    func run(_ variables: [CText], within limit: Duration = .seconds(30)) async throws -> ProgramOutcome {
        var output = try Pipe()
        var errors = try Pipe()
        let process = try start(variables, output: output, errors: errors)
        output.closeWriting()
        errors.closeWriting()
        var outcome = ProgramOutcome(status: 0, output: [], errors: [])
        let deadline = ContinuousClock.now + limit
        var pause = Duration.milliseconds(1)
        do {
            while true {
                var status: Int32 = 0
                let ended = unsafe waitpid(process, &status, WNOHANG)
                // What the program wrote before its end is in the pipes by now.
                try output.read(into: &outcome.output, atMost: Self.maximumOutput)
                try errors.read(into: &outcome.errors, atMost: Self.maximumOutput)
                if ended != 0 {
                    outcome.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
                    return outcome
                }
                guard ContinuousClock.now < deadline else {
                    throw SystemFailure("\(path.text) did not end within \(limit.components.seconds) s.")
                }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(20))
            }
        } catch {
            kill(-process, SIGKILL)
            var status: Int32 = 0
            while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
            throw error
        }
    }

    /// Starts the program in a process group of its own, with the usual effect of signals.
    private func start(_ variables: [CText], output: borrowing Pipe, errors: borrowing Pipe) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            _ = unsafe posix_spawn_file_actions_destroy(&actions)
            _ = unsafe posix_spawnattr_destroy(&attributes)
        }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        var problems = unsafe [
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
            posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO),
            posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO),
            posix_spawnattr_setsigmask(&attributes, &signals),
        ]
        unsafe sigfillset(&signals)
        unsafe problems.append(posix_spawnattr_setsigdefault(&attributes, &signals))
        unsafe problems.append(posix_spawnattr_setpgroup(&attributes, 0))
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        unsafe problems.append(posix_spawnattr_setflags(&attributes, Int16(flags)))
        var process: pid_t = 0
        var failure = problems.first { $0 != 0 } ?? 0
        if failure == 0 {
            failure = unsafe CText.withPointers(arguments) { arguments in
                unsafe CText.withPointers(variables) { variables in
                    unsafe posix_spawn(&process, path, &actions, &attributes, arguments, variables)
                }
            }
        }
        guard failure == 0 else {
            let reason = unsafe String(cString: strerror(failure))
            throw CommandFailure(description: "\(path.text) could not be started: \(reason).", isNotFound: false)
        }
        return process
    }
}

/// A pipe of which this process reads what is there, without waiting.
private struct Pipe: ~Copyable {
    private let reading: Int32
    let writing: Int32
    private var isWritable = true

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw SystemFailure("No pipe could be made", number: errno) }
        (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(reading)
        if isWritable { close(writing) }
    }

    mutating func closeWriting() {
        if isWritable { close(writing) }
        isWritable = false
    }

    func read(into bytes: inout [UInt8], atMost limit: Int) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(reading, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw SystemFailure("A program wrote more than \(limit) bytes.") }
        }
    }
}
