// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import IdentityClient
import SystemSupport

/// The process that keeps a file fresh beside a command, or is its forwarder, and ends with the command.
///
/// The command takes the place of the program that was called, and is not the companion's parent: see decision 34.
enum Companion {
    /// A descriptor of the command's process, and the end of the pipe that takes the companion's status.
    private static let (command, report): (Int32, Int32) = (3, 4)
    /// The signals that end a program, which a terminal or a service manager sends to all of its processes.
    private static let endings = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]

    /// Starts the companion of this process, and waits until the file has a token.
    ///
    /// - Parameter arguments: Those of the companion, with the program's name.
    /// - Throws: `Ended` with the companion's status, after the companion has reported its error; `SystemFailure`;
    ///   `CancellationError`.
    static func start(_ arguments: [String]) async throws {
        let process = SystemCall.descriptor(ofProcess: getpid())
        guard process >= 0 else {
            throw SystemFailure("A process beside the command needs its descriptor (Linux 5.3 or later)", number: errno)
        }
        defer { close(process) }
        var pipe = try Pipe(blocks: true)
        try spawn(arguments, command: process, report: pipe.writing, newSession: true)
        pipe.closeWriting()
        let reader = fcntl(pipe.reading, F_DUPFD_CLOEXEC, 3)
        let status = try await QueueExecutor("identityctl.companion").runUnlessCancelled {
            defer { close(reader) }
            guard let first = byte(from: reader), let status = ExitStatus(rawValue: Int32(first)) else {
                throw SystemFailure("The process beside the command ended before it was ready.")
            }
            // The companion ends after it has reported its error.
            if status != .done { _ = byte(from: reader) }
            return status
        }
        if status != .done { throw Ended(status: status) }
    }

    /// Leaves the work to a process that is no child of the command, which might wait for all of its children.
    static func detach(_ arguments: [String]) throws {
        try spawn(arguments, command: command, report: report, newSession: false)
    }

    /// Makes this process deaf to the signals that end a program. They are blocked until then.
    static func ignoreSignals() {
        for number in endings { _ = signal(number, SIG_IGN) }
        var signals = endingSignals
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static var endingSignals: sigset_t {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in endings { unsafe sigaddset(&signals, number) }
        return signals
    }

    /// Does the work of a companion until the command ends.
    ///
    /// - Parameter keep: Keeps the file until the task is cancelled, and calls its argument when the first token is in it.
    static func run(_ keep: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Void) async throws {
        for number in [command, report] { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        let ended = Promise<Void>()
        let queue = DispatchQueue(label: "identityctl.companion")
        let source = DispatchSource.makeReadSource(fileDescriptor: command, queue: queue)
        source.setEventHandler {
            // A program that replaces another ends all threads but one, which is no end.
            if Poll.isReady(command) { ended.finish(.success(())) }
        }
        source.resume()
        defer { source.cancel() }
        let work = Task {
            do {
                try await keep { tell(.done) }
            } catch {
                // A command that has ended wants no error.
                guard !Task.isCancelled else { return }
                tell(ExitStatus(for: error))
                throw error
            }
        }
        let end = Task {
            try await ended.value()
            work.cancel()
        }
        defer { end.cancel() }
        try await work.value
    }

    private static func tell(_ status: ExitStatus) {
        var byte = UInt8(truncatingIfNeeded: status.rawValue)
        _ = unsafe write(report, &byte, 1)
        if status == .done { close(report) }
    }

    private static func byte(from descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(descriptor, &byte, 1)
            if count >= 0 { return count == 1 ? byte : nil }
            guard errno == EINTR else { return nil }
        }
    }

    /// Starts this program anew, with nothing but standard error and the two descriptors. The signals that end a program
    /// are blocked, because a signal that this process handles would end the new one.
    private static func spawn(_ arguments: [String], command: Int32, report: Int32, newSession: Bool) throws {
        // High numbers first, so that none of the two takes the place of the other.
        let high = [command, report].map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        defer { for number in high { close(number) } }
        var start = ProcessStart()
        for number in [STDIN_FILENO, STDOUT_FILENO] { start.open(number, "/dev/null", O_RDWR) }
        start.duplicate(high[0], to: Self.command)
        start.duplicate(high[1], to: Self.report)
        for number in InheritedState.openDescriptors() where number > Self.report { start.close(number) }
        start.block(endingSignals)
        if newSession { start.leadSession() }
        let process: pid_t
        switch start.start(CText("/proc/self/exe"), arguments.map { CText($0) }, CText.environment) {
        case .success(let started): process = started
        case .failure(let error):
            throw SystemFailure("The process beside the command could not be started", number: error.value)
        }
        guard newSession else { return }
        // The child only starts the companion.
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }
}
