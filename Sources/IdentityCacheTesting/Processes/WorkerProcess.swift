// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Glibc
import LoopbackHTTP
import Synchronization
import SystemSupport

/// A running worker and its output so far. The worker is killed with this object.
package final class WorkerProcess: Sendable {
    /// A step that the process did not do, or not in time.
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// The state that the reading thread keeps until the process is gone, even without this object.
    private final class Record: Sendable {
        let state = Mutex(State())
    }

    private struct State {
        var lines: [(text: String, time: ContinuousClock.Instant)] = []
        var status: Int32?
    }

    package let process: pid_t
    /// This process's end of a pair of sockets; the other end is the worker's standard input and output. It is
    /// close-on-exec from the start, so that no process started at the same time keeps it open.
    private let link: Int32
    private let record = Record()

    /// Starts a worker.
    ///
    /// - Parameter command: The executable's path and its arguments.
    package init(_ command: [String], orders: WorkerOrders) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw Failed(description: "no sockets for a worker: error \(errno)")
        }
        defer { close(ends[1]) }
        do {
            let text = String(decoding: try JSONEncoder().encode(orders), as: UTF8.self)
            process = try Self.spawn(command, orders: text, link: ends[1])
        } catch {
            close(ends[0])
            throw error
        }
        link = ends[0]
        // Uses its own thread, because `recv` and `waitpid` block.
        try DetachedThread.start { [record, process, link] in
            Self.collect(link, record)
            var status: Int32 = 0
            while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
            let ended = status
            record.state.withLock { state in
                state.status = ended
                close(link)
            }
        }
    }

    deinit {
        terminate()
    }

    /// Waits until the worker has opened the cache.
    package func ready() async throws {
        try await poll("start") { state in
            state.lines.first?.text == "ready" || state.status != nil ? () : nil
        }
    }

    /// Waits until the worker reports that it waits for another process's refresh. The worker must have been asked to
    /// report it.
    package func waiting() async throws {
        try await hear(TokenCacheWorker.waiting)
    }

    /// Lets the worker act once, beside its current actions. Has no effect on a dead worker.
    package func go() { send(WorkerEvent.bytes.go) }

    /// Cancels the action of the first `go()` that is not yet cancelled.
    package func cancel() { send(WorkerEvent.bytes.cancel) }

    /// Waits until the worker has reached the point where it pauses.
    package func paused() async throws {
        try await hear(WorkerStop.mark)
    }

    private func hear(_ mark: String) async throws {
        let (isHeard, said) = try await poll("say \(mark)") { state -> (Bool, [String])? in
            let said = state.lines.map(\.text)
            if said.contains(mark) { return (true, said) }
            return state.status != nil || said.count > 1 ? (false, said) : nil
        }
        guard isHeard else {
            throw Failed(description: "a worker came to its end without having said \(mark), but \(said)")
        }
    }

    /// Lets the worker go on from the point where it paused.
    package func goOn() { send(WorkerEvent.bytes.goOn) }

    private func send(_ byte: UInt8) {
        record.state.withLock { state in
            guard state.status == nil else { return }
            var byte = byte
            _ = unsafe Glibc.send(link, &byte, 1, Int32(MSG_NOSIGNAL))
        }
    }

    /// Kills the worker. This is safe until the process is reaped, that is, until its status is known.
    package func terminate() {
        record.state.withLock { if $0.status == nil { _ = kill(process, SIGKILL) } }
    }

    /// Returns the report about a round, or `nil` if the worker died first.
    package func report(_ number: Int = 0) async throws -> WorkerReport? {
        try await timedReport(number)?.report
    }

    /// Returns the report about a round and the time of its arrival.
    package func timedReport(
        _ number: Int = 0
    ) async throws -> (report: WorkerReport, time: ContinuousClock.Instant)? {
        let prefix = "\(number) "
        let line: (text: String, time: ContinuousClock.Instant)? = try await poll("report \(number)") { state in
            if let line = state.lines.first(where: { $0.text.hasPrefix(prefix) }) { return .some(.some(line)) }
            return state.status == nil ? nil : .some(nil)
        }
        guard let line else { return nil }
        let json = Data(line.text.dropFirst(prefix.count).utf8)
        return (try JSONDecoder().decode(WorkerReport.self, from: json), line.time)
    }

    /// Whether the process is gone.
    package var hasEnded: Bool { record.state.withLock { $0.status != nil } }

    /// Waits for the process to end and returns its status, in the format of `waitpid`.
    @discardableResult
    package func end() async throws -> Int32 {
        try await poll("end") { $0.status }
    }

    private func poll<Value>(
        _ what: String,
        _ look: (State) -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(45)
        while ContinuousClock.now < deadline {
            if let value = look(record.state.withLock { $0 }) { return value }
            try await Task.sleep(for: .milliseconds(2))
        }
        terminate()
        throw Failed(description: "a worker's \(what) was waited for in vain")
    }

    private static func collect(_ link: Int32, _ record: Record) {
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe recv(link, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            pending += buffer[..<count]
            while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeSubrange(...end)
                record.state.withLock { $0.lines.append((line, .now)) }
            }
        }
    }

    private static func spawn(_ command: [String], orders: String, link: Int32) throws -> pid_t {
        guard let path = command.first else { throw Failed(description: "no command for the workers was given") }
        var start = ProcessStart()
        for standard in [Int32(0), 1] { start.duplicate(link, to: standard) }
        let variables = [CText("\(WorkerOrders.variable)=\(orders)")] + CText.environment
        switch start.start(CText(path), command.map { CText($0) }, variables) {
        case .success(let started): return started
        case .failure(let failure): throw Failed(description: "\(path) could not be started: \(failure.text)")
        }
    }
}
