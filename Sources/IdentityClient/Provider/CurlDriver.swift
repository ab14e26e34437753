// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import HTTPTypes
import LoopbackHTTP
import Synchronization
import SystemSupport

/// The C side of a driver.
// Reviewed exception: the pointer never changes; `ccurl_driver_wake` may be called from any thread, everything else is
// called by the driver's one thread; the memory lives as long as this object, which both sides hold.
@safe final class CurlHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = unsafe ccurl_driver_new() else { return nil }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe ccurl_driver_free(pointer)
    }

    func wake() {
        unsafe ccurl_driver_wake(pointer)
    }
}

/// The interface between callers and the thread that calls libcurl.
final class CurlDriver: Sendable {
    struct Answer: Sendable {
        var response: HTTPResponse
        var body: [UInt8]
    }

    struct Job: Sendable {
        let ticket: UInt64
        let request: CurlRequest
        let caller: Caller
    }

    /// The waiting caller of a request.
    enum Caller: Sendable {
        case answer(Promise<Answer>)
        case stream(CurlStream)

        func fail(_ error: any Error) {
            switch self {
            case .answer(let pending): pending.finish(.failure(error))
            case .stream(let stream): stream.end(.failure(error))
            }
        }
    }

    /// The callers' commands since the thread last looked.
    struct Commands {
        var jobs: [Job] = []
        var abandoned: [UInt64] = []
        /// No more requests are accepted; the thread ends after its last request.
        var isRetired = false

        fileprivate var isEmpty: Bool { jobs.isEmpty && abandoned.isEmpty }
    }

    private struct State {
        var commands = Commands()
        var lastTicket: UInt64 = 0
        /// The time of the first wake that the thread has not handled.
        var wokenSince: SuspendingClock.Instant?
    }

    let handle: CurlHandle
    let settings: CurlSettings
    private let timeAsleepBefore: Duration
    private let state = Mutex(State())

    init(_ settings: CurlSettings) throws {
        guard let handle = CurlHandle() else { throw Self.exhausted() }
        self.handle = handle
        self.settings = settings
        timeAsleepBefore = settings.timeAsleep()
    }

    /// Starts the thread, which holds the driver until it ends.
    func start() throws {
        do {
            try DetachedThread.start { [self] in
                var loop = CurlLoop(self)
                loop.run()
            }
        } catch { throw Self.exhausted() }
    }

    /// Accepts a request; `nil` if the driver is retired.
    func submit(_ request: CurlRequest, _ caller: Caller) -> UInt64? {
        enqueue { state in
            guard !state.commands.isRetired else { return nil }
            state.lastTicket += 1
            state.commands.jobs.append(Job(ticket: state.lastTicket, request: request, caller: caller))
            return state.lastTicket
        }
    }

    /// Marks a request without a waiting caller.
    func abandon(_ ticket: UInt64) {
        enqueue { $0.commands.abandoned.append(ticket) }
    }

    /// Wakes the thread after a change of a stream.
    func wakeThread() {
        enqueue { _ in }
    }

    /// Accepts no more requests, finishes running requests and ends the thread.
    func retire() {
        enqueue { $0.commands.isRetired = true }
    }

    var isRetired: Bool { state.withLock { $0.commands.isRetired } }

    /// Whether the computer has slept since the driver's creation. Routers and servers forget connections meanwhile,
    /// but libcurl considers them fresh, because its clock stood still.
    var hasSlept: Bool { settings.timeAsleep() - timeAsleepBefore > .seconds(2) }

    /// Whether commands have waited this long, because libcurl blocks the thread, in a resolver for example.
    func isHeldUp(for heldUpTimeout: Duration) -> Bool {
        guard let since = state.withLock({ $0.wokenSince }) else { return false }
        return SuspendingClock.now - since >= heldUpTimeout
    }

    static func exhausted() -> AuthenticationError {
        AuthenticationError(
            .transportUnavailable,
            "The HTTP transport could not be started: the process is out of memory, threads or file descriptors."
        )
    }

    private func enqueue<T: Sendable>(_ change: (inout State) -> T) -> T {
        let (result, wakes) = state.withLock { state in
            let result = change(&state)
            guard state.wokenSince == nil else { return (result, false) }
            state.wokenSince = .now
            return (result, true)
        }
        if wakes { handle.wake() }
        return result
    }
}

// The thread's side.
extension CurlDriver {
    /// The commands since the last call.
    func drain() -> Commands {
        state.withLock { state in
            let commands = state.commands
            state.commands.jobs = []
            state.commands.abandoned = []
            state.wokenSince = nil
            return commands
        }
    }

    /// Retires unless there are new commands.
    func retireIfIdle() {
        state.withLock { if $0.commands.isEmpty { $0.commands.isRetired = true } }
    }
}
