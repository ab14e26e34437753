// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import SystemSupport

/// The connections of a cache: as many as are used at the same time, at most a chosen number, on threads of their own.
final class ConnectionPool: Sendable {
    private struct State {
        var parameters: DatabaseParameters?
        /// The number of the server that was reached last.
        var server = 0
        var idle: [DatabaseConnection] = []
        /// Closes the idle connections if none has been used for a while.
        var closing: Task<Void, Never>?
        /// Whether the last attempt to reach the database failed.
        var isDown = false
    }

    /// The longest time of a call.
    let timeout: Duration
    private let string: String
    private let queues: QueueExecutor
    private let state = Mutex(State())
    private static let idleTime = Duration.seconds(60)

    init(_ string: String, width: Int, timeout: Duration) {
        self.string = string
        self.timeout = timeout
        queues = QueueExecutor("postgresql", width: width)
    }

    deinit {
        state.withLock { $0.closing?.cancel() }
    }

    /// Whether the last attempt to reach the database failed, and none has succeeded since.
    var isDown: Bool { state.withLock(\.isDown) }

    /// Does `work` with a connection, and repeats it on another while the problem passes and there is time.
    ///
    /// A caller that is cancelled, or whose time is up, stops waiting. The work then ends by its own deadline.
    ///
    /// - Parameter work: Gets the connection, its deadline, and whether an earlier attempt may have been done by the
    ///   server.
    /// - Throws: `DatabaseProblem`, `CancellationError`.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (DatabaseConnection, SuspendingClock.Instant, _ isUnsure: Bool) throws -> Value
    ) async throws -> Value {
        let deadline = SuspendingClock.now + timeout
        do {
            // Looking a host's name up has no deadline of its own.
            return try await withDeadline(timeout + .milliseconds(500)) { [self] in
                try await queues.runUnlessCancelled { try self.perform(until: deadline, work) }
            }
        } catch is DeadlineExceeded {
            throw DatabaseProblem.time
        }
    }

    private func perform<Value>(
        until deadline: SuspendingClock.Instant,
        _ work: (DatabaseConnection, SuspendingClock.Instant, Bool) throws -> Value
    ) throws -> Value {
        var pause = Duration.milliseconds(10)
        var (isUnsure, isWarned) = (false, false)
        // What an earlier attempt was told. An attempt that the deadline cuts off is told nothing.
        var told: DatabaseProblem?
        while true {
            guard SuspendingClock.now < deadline else {
                throw isUnsure ? DatabaseProblem.time : told ?? DatabaseProblem.time
            }
            do {
                let connection = try idleConnection() ?? connect(until: deadline)
                let value: Value
                do { value = try work(connection, deadline, isUnsure) } catch {
                    keep(connection, after: error)
                    throw error
                }
                keep(connection)
                return value
            } catch let problem as DatabaseProblem {
                isUnsure = isUnsure || problem.mayBeDone
                if problem == .time { state.withLock { $0.isDown = true } }
                // A server that ends in the middle of a handshake is mistrusted once.
                var isFirstWarning = false
                if case .mistrusted = problem { (isFirstWarning, isWarned) = (!isWarned, true) }
                guard problem.isPassing || isFirstWarning, SuspendingClock.now + pause < deadline else {
                    throw problem == .silence && !isUnsure ? told ?? problem : problem
                }
                if problem != .silence { told = problem }
            }
            _ = Poll.wait(for: [], until: .now + pause)
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    private func idleConnection() -> DatabaseConnection? {
        while let connection = state.withLock({ $0.idle.popLast() }) {
            if connection.isGood { return connection }
        }
        return nil
    }

    private func keep(_ connection: DatabaseConnection) {
        state.withLock { state in
            state.idle.append(connection)
            state.closing?.cancel()
            state.closing = Task { [weak self] in
                try? await Task.sleep(for: Self.idleTime)  // a cancelled one closes nothing
                guard !Task.isCancelled else { return }
                self?.state.withLock { $0.idle = [] }
            }
        }
    }

    /// Keeps a connection after an error of the statement alone. After a loss, the others are most likely lost as well.
    private func keep(_ connection: DatabaseConnection, after error: any Error) {
        switch error as? DatabaseProblem {
        case .failed(let state, _) where state != "25006": keep(connection)
        case .unconfirmed: keep(connection)
        default: state.withLock { $0.idle = [] }
        }
    }
}

extension ConnectionPool {
    /// Opens a connection to the first of the servers that writes, beginning with the one that was reached last.
    ///
    /// - Throws: `DatabaseProblem`.
    func connect(until deadline: SuspendingClock.Instant) throws -> DatabaseConnection {
        let parameters = try parameters()
        let (first, count) = (state.withLock(\.server), parameters.servers.count)
        var problem: DatabaseProblem?
        for index in 0..<count {
            let (server, now) = ((first + index) % count, SuspendingClock.now)
            let share = now.duration(to: deadline) / (count - index)
            do {
                let connection = try DatabaseConnection(
                    parameters,
                    parameters.servers[server],
                    statementLimit: timeout * 4 / 5,
                    until: now + share
                )
                state.withLock { ($0.server, $0.isDown) = (server, false) }
                return connection
            } catch let found as DatabaseProblem {
                // A refusal says more than a server that is not there.
                if problem?.isPassing ?? true { problem = found }
            }
        }
        state.withLock { $0.isDown = true }
        throw problem ?? DatabaseProblem.parameters(nil)
    }

    private func parameters() throws -> DatabaseParameters {
        if let known = state.withLock(\.parameters) { return known }
        let parameters = try DatabaseParameters(string)
        state.withLock { $0.parameters = parameters }
        return parameters
    }
}
