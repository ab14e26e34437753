// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP
import Synchronization
package import SystemSupport

/// How long the forwarder waits for whom, and how much it keeps.
package struct ForwardingLimits: Sendable {
    /// Clients at a time; others wait unaccepted.
    package var clients = 256
    /// The time for a client's head.
    package var head: Duration = .seconds(30)
    /// The time for which a client's connection is kept without a request.
    package var idle: Duration = .seconds(75)
    package var connect: Duration = .seconds(10)
    /// The time for an answer's head. Models think long.
    package var answer: Duration = .seconds(600)
    /// The time in which no byte moves in either direction.
    package var stall: Duration = .seconds(900)
    /// The time for which the rest of a request is read and thrown away after an early answer.
    package var linger: Duration = .seconds(1)
    /// The time before the answer to a wrong phantom.
    package var wrongPhantom: Duration = .milliseconds(300)
    /// Bytes of a request's body that are kept for a repetition, and of all bodies.
    package var (body, bodies) = (1 << 20, 16 << 20)

    package init() {}
}

/// A request and its answer, for the log. It has no fields, no query and no body.
package struct ForwardedExchange: Sendable {
    package let route: String
    package let method: String
    /// Empty if the request was refused for what it is.
    package var path = ""
    /// That of the server's answer; 0 without one.
    package internal(set) var status = 0
    /// The forwarder's own answer.
    package internal(set) var problem: ForwardingProblem?
    package internal(set) var time = Duration.zero
    /// Bytes of the bodies in each direction.
    package internal(set) var (sent, received) = (0, 0)

    init(route: String, method: String, path: String = "", problem: ForwardingProblem? = nil) {
        (self.route, self.method, self.path, self.problem) = (route, method, path, problem)
    }
}

/// One route at its sockets: takes clients, gives each a thread, and passes their requests on with a token.
package final class Forwarder: Sendable {
    private struct State {
        var clients: [Int32: SharedDescriptor] = [:]
        /// When the last one left.
        var quiet = ContinuousClock.now
        var keptBytes = 0
        var isStopped = false
    }

    let rules: ForwardingRules
    let desk: any TokenDesk
    let limits: ForwardingLimits
    let pool: UpstreamPool
    let note: @Sendable (ForwardedExchange) -> Void
    private let listeners: [SharedDescriptor]
    private let wake: (reading: SharedDescriptor, writing: SharedDescriptor)
    private let state = Mutex(State())

    /// Starts to take clients.
    ///
    /// - Parameters:
    ///   - listeners: Sockets that listen at `place` and never block.
    ///   - note: Called on a client's thread after each request.
    /// - Throws: `SystemCallError` without threads or descriptors.
    package init(
        _ route: ForwardingRoute,
        at place: ForwardingRoute.Place,
        listeners: [SharedDescriptor],
        desk: any TokenDesk,
        limits: ForwardingLimits = ForwardingLimits(),
        note: @escaping @Sendable (ForwardedExchange) -> Void = { _ in }
    ) throws {
        rules = ForwardingRules(route, at: place)
        pool = UpstreamPool(route, connectTime: limits.connect)
        wake = try SharedDescriptor.pair()
        (self.listeners, self.desk, self.limits, self.note) = (listeners, desk, limits, note)
        try DetachedThread.start { [self] in run() }
    }

    /// The number of connections of clients.
    package var clients: Int { state.withLock { $0.clients.count } }

    /// Since when there is no client; `nil` while there is one.
    package var idleSince: ContinuousClock.Instant? { state.withLock { $0.clients.isEmpty ? $0.quiet : nil } }

    /// Takes no more clients, and ends all connections. Requests that wait for the desk end when it answers.
    ///
    /// - Parameter leavesSockets: Whether the sockets go on listening, for another forwarder.
    package func stop(leavesSockets: Bool = false) {
        let clients = state.withLock { state in
            state.isStopped = true
            return Array(state.clients.values)
        }
        for socket in (leavesSockets ? [] : listeners) + clients { _ = shutdown(socket.raw, Int32(SHUT_RDWR)) }
        signal()
    }

    /// Takes from the room for bodies that are kept, or with a negative number gives back.
    func keep(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.keptBytes + bytes <= limits.bodies else { return false }
            state.keptBytes += bytes
            return true
        }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 64)
        var pause: ContinuousClock.Instant?
        while true {
            let (clients, isStopped) = state.withLock { ($0.clients.count, $0.isStopped) }
            if isStopped { return }
            if let end = pause, end <= .now { pause = nil }
            let takesMore = clients < limits.clients && pause == nil
            let awaited = [Poll.Awaited(wake.reading.raw)] + (takesMore ? listeners.map { Poll.Awaited($0.raw) } : [])
            let ready = Poll.wait(for: awaited, until: [pool.expire(), pause].compactMap(\.self).min())
            if ready[0] != 0 { _ = wake.reading.receive(into: &buffer) }
            guard ready.dropFirst().contains(where: { $0 != 0 }) else { continue }
            switch Acceptance.next(at: listeners, admitsOtherUsers: !rules.asksForUser) {
            case .connection(let socket, let peer):
                if !admit(socket, peer) { pause = .now + .milliseconds(100) }
            case .exhausted: pause = .now + .milliseconds(100)
            case .none: break
            }
        }
    }

    /// - Returns: Whether there was a thread for the client.
    private func admit(_ socket: SharedDescriptor, _ peer: LoopbackPeer?) -> Bool {
        let isLate = state.withLock { state in
            if !state.isStopped { state.clients[socket.raw] = socket }
            return state.isStopped
        }
        guard !isLate else { return true }
        do {
            try DetachedThread.start(stackBytes: 256 * 1024) { [self] in
                ForwardedConnection(socket, of: self).run(peer)
                leave(socket)
                signal()
            }
            return true
        } catch {
            leave(socket)
            return false
        }
    }

    private func leave(_ socket: SharedDescriptor) {
        state.withLock { state in
            state.clients[socket.raw] = nil
            state.quiet = .now
        }
    }

    private func signal() { _ = wake.writing.send([1]) }
}

/// Has the tokens of a route.
package protocol TokenDesk: Sendable {
    /// Returns the token for a request, on the connection's own thread: the call may block as long as the client may wait.
    ///
    /// A token that was issued after the request began is not renewed: then the desk returns the refused one again.
    func token(for wish: TokenWish) throws(ForwardingProblem) -> String
}

/// The wish of one request.
package struct TokenWish: Sendable {
    /// When the request began.
    package let begun: ContinuousClock.Instant
    /// The token that the server has refused in this request.
    package var refused: String?
    /// The values of `WWW-Authenticate` in the refusal.
    package var challenges: [String] = []
}
