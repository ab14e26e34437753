// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization
import SystemSupport

/// A process that this one starts and waits for.
final class ChildProcess: Sendable {
    /// The way to end the process early.
    enum End {
        /// It leads a process group, and is killed with it.
        case killingGroup
        /// It is asked to end, as a person's editor, which leaves the terminal in order.
        case asking
    }

    private enum State {
        case notStarted
        /// With a descriptor of the process; -1 before Linux 5.3.
        case running(pid_t, descriptor: Int32)
        case ended(Int32)
    }

    private let end: End
    private let state = Mutex(State.notStarted)

    private init(_ end: End) {
        self.end = end
    }

    /// Calls `work` on a thread of its own. When it returns, the process has ended. If the task is cancelled, the process is
    /// ended early.
    ///
    /// - Throws: The errors of `work`, after which the process is ended; `CancellationError`.
    static func run<Value: Sendable>(
        _ end: End,
        _ work: @escaping @Sendable (ChildProcess) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let process = ChildProcess(end)
        let value = try await withTaskCancellationHandler {
            try await QueueExecutor("identityctl.program").run {
                defer {
                    while process.isRunning {
                        process.endEarly()
                        process.wait()
                    }
                }
                return try work(process)
            }
        } onCancel: {
            process.endEarly()
        }
        try Task.checkCancellation()
        return value
    }

    /// - Throws: The errors of `start`; `CancellationError`.
    func begin(_ start: () throws -> pid_t) throws {
        try state.withLock { state in
            guard case .notStarted = state else { throw CancellationError() }
            let process = try start()
            state = .running(process, descriptor: SystemCall.descriptor(ofProcess: process))
        }
    }

    /// Waits until the process has ended, something can be read from a descriptor, or the time is over.
    func wait(until deadline: ContinuousClock.Instant? = nil, orReading descriptors: [Int32] = []) {
        guard case .running(_, let descriptor) = state.withLock({ $0 }) else { return }
        let end = descriptor < 0 ? ContinuousClock.now + .milliseconds(20) : deadline
        _ = Poll.wait(for: ([descriptor] + descriptors).map { Poll.Awaited($0) }, until: end)
    }

    /// The status of wait(2) once the process has ended; 0 if something else has taken it.
    var status: Int32? {
        state.withLock { state in
            if case .running(let process, let descriptor) = state {
                var status: Int32 = 0
                let result = unsafe waitpid(process, &status, WNOHANG)
                if result != 0, errno != EINTR || result > 0 {
                    state = .ended(result > 0 ? status : 0)
                    close(descriptor)
                }
            }
            if case .ended(let status) = state { return status }
            return nil
        }
    }

    private var isRunning: Bool {
        if status != nil { return false }
        if case .running = state.withLock({ $0 }) { return true }
        return false
    }

    /// Nothing is sent to a process whose status is known: its number can be another's.
    private func endEarly() {
        state.withLock { state in
            switch (state, end) {
            case (.notStarted, _): state = .ended(0)
            case (.running(let process, _), .killingGroup): kill(-process, SIGKILL)
            case (.running(let process, _), .asking): kill(process, SIGTERM)
            case (.ended, _): break
            }
        }
    }
}
