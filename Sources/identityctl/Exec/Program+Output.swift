// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

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

    /// Runs the program to its end. It and the programs that it starts are ended after `limit`, and if the task is cancelled.
    ///
    /// - Parameters:
    ///   - input: A few lines that the program reads.
    ///   - isDone: Whether the program has written what is wanted. Its input ends only then.
    /// - Throws: `CommandFailure`, `SystemFailure`, `CancellationError`.
    func run(
        _ variables: [CText],
        within limit: Duration = .seconds(30),
        reading input: [UInt8] = [],
        until isDone: @escaping @Sendable ([UInt8]) -> Bool = { _ in true }
    ) async throws -> ProgramOutcome {
        try await ChildProcess.run(.killingGroup) { process in
            let deadline = ContinuousClock.now + limit
            var output = try Pipe()
            var errors = try Pipe()
            var given = try Pipe(blocks: true)
            try given.write(input)
            try process.begin {
                var start = ProcessStart()
                if input.isEmpty {
                    start.open(STDIN_FILENO, "/dev/null", O_RDONLY)
                } else {
                    start.duplicate(given.reading, to: STDIN_FILENO)
                }
                start.duplicate(output.writing, to: STDOUT_FILENO)
                start.duplicate(errors.writing, to: STDERR_FILENO)
                start.leadGroup()
                return try self.start(start, variables)
            }
            output.closeWriting()
            errors.closeWriting()
            var outcome = ProgramOutcome(status: 0, output: [], errors: [])
            while true {
                let status = process.status
                // What the program wrote before its end is in the pipes by now.
                try output.read(into: &outcome.output, atMost: Self.maximumOutput)
                if isDone(outcome.output) { given.closeWriting() }
                try errors.read(into: &outcome.errors, atMost: Self.maximumOutput)
                if let status {
                    outcome.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
                    return outcome
                }
                guard ContinuousClock.now < deadline else {
                    throw SystemFailure("\(path.text) did not end within \(limit.components.seconds) s.")
                }
                process.wait(until: deadline, orReading: [output.open, errors.open])
            }
        }
    }

    /// Runs the program with this process's terminal and other descriptors until the person closes it.
    ///
    /// - Returns: Whether it succeeded.
    /// - Throws: `CommandFailure`, `CancellationError`.
    func runInTerminal(_ variables: [CText]) async throws -> Bool {
        try await ChildProcess.run(.asking) { process in
            try process.begin { try start(ProcessStart(), variables) }
            while process.status == nil { process.wait() }
            return process.status == 0
        }
    }

    /// Starts the program with the usual effect of signals.
    private func start(_ start: consuming ProcessStart, _ variables: [CText]) throws -> pid_t {
        start.resetSignals()
        switch start.start(path, arguments, variables) {
        case .success(let process): return process
        case .failure(let error):
            throw CommandFailure(description: "\(path.text) could not be started: \(error.text).", isNotFound: false)
        }
    }
}
