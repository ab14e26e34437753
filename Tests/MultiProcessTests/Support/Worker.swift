// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing

/// A process of its own that acquires tokens. It waits until it is told to.
final class Worker: Sendable {
    /// What the worker tells about one acquisition.
    struct Report: Codable, Sendable {
        var token: String?
        var source: String?
        var unsaved: String?
        var error: String?
        var retryAfter: Int?
        var milliseconds: Double
    }

    struct TimedOut: Error {
        let what: String
    }

    let process: pid_t
    private let input: Int32
    /// One start at a time, so that no worker inherits another one's pipe before it is marked.
    private static let starting = Mutex(())
    private let state = Mutex((lines: [String](), status: Int32?.none))

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - arguments: What it is to do.
    ///   - crash: Where it kills itself.
    init(_ arguments: [String], crash: String? = nil) throws {
        let (process, input, output) = try Self.starting.withLock { _ in
            let (toChild, fromChild) = (try Self.pipe(), try Self.pipe())
            defer {
                close(toChild.reading)
                close(fromChild.writing)
            }
            let process = try Self.spawn(arguments, crash: crash, input: toChild.reading, output: fromChild.writing)
            return (process, toChild.writing, fromChild.reading)
        }
        self.process = process
        self.input = input
        Thread.detachNewThread { [self] in
            collect(output)
            var status: Int32 = 0
            while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
            let ended = status
            state.withLock { $0.status = ended }
        }
    }

    deinit {
        close(input)
    }

    /// Waits until the worker has opened the cache.
    func ready() async throws {
        try await poll("a worker's start") { state in
            state.lines.first == "ready" || state.status != nil ? () : nil
        }
    }

    /// Lets it acquire once.
    func go() {
        let line: [UInt8] = [UInt8(ascii: "\n")]
        _ = unsafe line.withUnsafeBytes { unsafe write(input, $0.baseAddress, 1) }
    }

    /// Kills it. Safe while it is not yet reaped, which is so until its status is known.
    func terminate() {
        state.withLock { if $0.status == nil { _ = kill(process, SIGKILL) } }
    }

    /// The report on the acquisition with that number, or `nil` when it died before.
    func report(_ number: Int = 0) async throws -> Report? {
        let line: String? = try await poll("report \(number) of a worker") { state in
            if state.lines.count > number + 1 { return .some(state.lines[number + 1]) }
            return state.status == nil ? nil : .some(nil)
        }
        return try line.map { try JSONDecoder().decode(Report.self, from: Data($0.utf8)) }
    }

    /// The status as `waitpid` gives it.
    @discardableResult
    func end() async throws -> Int32 {
        try await poll("the end of a worker") { $0.status }
    }

    private func poll<Value>(
        _ what: String,
        _ look: ((lines: [String], status: Int32?)) -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(45)
        while ContinuousClock.now < deadline {
            if let value = look(state.withLock { $0 }) { return value }
            try await Task.sleep(for: .milliseconds(2))
        }
        terminate()
        throw TimedOut(what: what)
    }

    private func collect(_ descriptor: Int32) {
        defer { close(descriptor) }
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            pending += buffer[..<count]
            while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeSubrange(...end)
                state.withLock { $0.lines.append(line) }
            }
        }
    }
}

extension Worker {
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        let result = unsafe Glibc.pipe(&ends)
        try #require(result == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(_ arguments: [String], crash: String?, input: Int32, output: Int32) throws -> pid_t {
        let path = try executable()
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        var words = unsafe ([path] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        var variables = ProcessInfo.processInfo.environment.filter { $0.key != "REFRESH_WORKER_CRASH" }
        variables["REFRESH_WORKER_CRASH"] = crash
        var environment = unsafe variables.map { unsafe strdup("\($0.key)=\($0.value)") }
        unsafe environment.append(nil)
        defer {
            unsafe words.forEach { unsafe free($0) }
            unsafe environment.forEach { unsafe free($0) }
        }
        var started: pid_t = 0
        let result = unsafe posix_spawn(&started, path, &actions, nil, words, environment)
        try #require(result == 0)
        return started
    }

    /// The executable lies beside the tests.
    private static func executable() throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        let path = bundle.deletingLastPathComponent().appendingPathComponent("refresh-worker").path
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not there")
        return path
    }
}
