// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import IdentityClient
import LoopbackHTTP
import Synchronization
import SystemSupport

/// Answers one request on each connection. Its own thread does all the waiting; tasks make the answers.
final class AgentServer: Sendable {
    /// Limits on the resources that callers can use.
    struct Limits: Hashable, Sendable {
        /// Connections at a time; more clients wait unaccepted.
        var connections = 64
        /// Further places for clients of the listeners after the first, which another machine cannot take.
        var controlConnections = 8
        /// The time for a request to arrive, and for an answer to be taken.
        var deadline: Duration = .seconds(5)
    }

    /// A request's bytes, its sender, and the listener's place in the list.
    struct Arrival: Sendable {
        let bytes: [UInt8]
        let peer: AgentPeer
        let listener: Int
    }

    private let channel: AgentChannel

    /// Starts to answer.
    ///
    /// - Parameters:
    ///   - listeners: Listening sockets. The first may be forwarded; clients of the others are accepted before its own.
    ///   - refuse: Makes the answer to bytes that are no request, by the reason.
    ///   - respond: Makes an answer, in a task that is cancelled when the connection breaks or the server closes.
    init(
        listeners: [SharedDescriptor],
        limits: Limits = Limits(),
        refuse: @escaping @Sendable (String) -> [UInt8],
        respond: @escaping @Sendable (Arrival) async -> [UInt8]
    ) throws {
        let channel = try AgentChannel()
        self.channel = channel
        // A serial queue has a thread of its own.
        DispatchQueue(label: "identityctl.agent").async {
            AgentLoop(channel, listeners, limits, refuse, respond).run()
            channel.ended.finish(.success(()))
        }
    }

    deinit {
        close()
    }

    /// Refuses new connections. Answers that are under way have one more second.
    func close() {
        channel.close()
    }

    /// Closes, and waits for the end. A cancelled task does not wait.
    func finish() async {
        close()
        try? await channel.ended.value()
    }
}

/// The way from tasks to the loop's thread.
private final class AgentChannel: Sendable {
    private let state = Mutex((answers: [(connection: Int, bytes: [UInt8])](), isClosed: false))
    let ended = Promise<Void>()
    let reading: SharedDescriptor
    private let writing: SharedDescriptor

    init() throws {
        (reading, writing) = try SharedDescriptor.pair()
    }

    func post(_ bytes: [UInt8], to connection: Int) {
        let isFirst = state.withLock { state in
            defer { state.answers.append((connection, bytes)) }
            return state.answers.isEmpty
        }
        if isFirst { wake() }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        wake()
    }

    func take() -> (answers: [(connection: Int, bytes: [UInt8])], isClosed: Bool) {
        var buffer = [UInt8](repeating: 0, count: 64)
        while case .bytes(buffer.count) = reading.receive(into: &buffer) {}
        return state.withLock { state in
            defer { state.answers = [] }
            return state
        }
    }

    private func wake() {
        var byte: UInt8 = 1
        // A full buffer wakes the thread too.
        _ = unsafe send(writing.raw, &byte, 1, Int32(MSG_NOSIGNAL))
    }
}

/// One client's connection, used only on the loop's thread.
private final class AgentConnection {
    let socket: SharedDescriptor
    let peer: AgentPeer
    let listener: Int
    var deadline: ContinuousClock.Instant?
    var input: [UInt8] = []
    var scanner = ObjectScanner()
    var task: Task<Void, Never>?
    var output: ArraySlice<UInt8> = []
    /// The refusal that is sent again after the client's next bytes. A client of oidc-agent begins its encrypted form
    /// with a key, takes any answer for ours, and reads a plain error only after its second message.
    var refusal: [UInt8]?

    init(_ socket: SharedDescriptor, _ peer: AgentPeer, _ listener: Int, until deadline: ContinuousClock.Instant) {
        self.socket = socket
        self.peer = peer
        self.listener = listener
        self.deadline = deadline
    }

    /// Errors and hang-ups are always reported.
    var interest: Int32 { !output.isEmpty ? POLLOUT : task == nil ? POLLIN : 0 }
}

/// The server's thread: it accepts, reads and writes, and waits for all of it in one `poll`.
private final class AgentLoop {
    private let channel: AgentChannel
    private let listeners: [SharedDescriptor]
    private let limits: AgentServer.Limits
    private let refuse: @Sendable (String) -> [UInt8]
    private let respond: @Sendable (AgentServer.Arrival) async -> [UInt8]
    private let clock = ContinuousClock()
    private var connections: [Int: AgentConnection] = [:]
    private var last = 0
    private var acceptsAgainAt: ContinuousClock.Instant?
    /// The end of the last second.
    private var endsAt: ContinuousClock.Instant?
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    init(
        _ channel: AgentChannel,
        _ listeners: [SharedDescriptor],
        _ limits: AgentServer.Limits,
        _ refuse: @escaping @Sendable (String) -> [UInt8],
        _ respond: @escaping @Sendable (AgentServer.Arrival) async -> [UInt8]
    ) {
        (self.channel, self.listeners, self.limits) = (channel, listeners, limits)
        self.refuse = refuse
        self.respond = respond
    }

    func run() {
        while true {
            let order = Array(connections)
            var awaited = [Poll.Awaited(channel.reading.raw)]
            awaited += order.map { Poll.Awaited($0.value.socket.raw, $0.value.interest) }
            let open = acceptsAgainAt == nil && endsAt == nil ? listeners.indices.reversed().filter(hasRoom) : []
            awaited += open.map { Poll.Awaited(listeners[$0].raw) }
            let ready = Poll.wait(for: awaited, until: nextDeadline)
            let (answers, isClosed) = channel.take()
            for (id, bytes) in answers { answer(id, bytes) }
            if isClosed, isOver() { return }
            for (entry, events) in zip(order, ready.dropFirst()) where events != 0 {
                serve(entry.key, entry.value, events)
            }
            for (listener, events) in zip(open, ready.dropFirst(1 + order.count)) where events != 0 { accept(listener) }
            expire()
        }
    }

    /// Whether no answer of a closed server is under way, or its time is up.
    private func isOver() -> Bool {
        let end = endsAt ?? clock.now + .seconds(1)
        endsAt = end
        let isLate = end <= clock.now
        for (id, connection) in connections where isLate || connection.task == nil && connection.output.isEmpty {
            drop(id)
        }
        return connections.isEmpty
    }

    private func hasRoom(_ listener: Int) -> Bool {
        let isControl = listener > 0
        let count = connections.values.count { ($0.listener > 0) == isControl }
        return count < (isControl ? limits.controlConnections : limits.connections)
    }

    private func accept(_ listener: Int) {
        while hasRoom(listener) {
            let raw = Glibc.accept(listeners[listener].raw, nil, nil)
            guard raw >= 0 else {
                let isExhausted = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
                if isExhausted { acceptsAgainAt = clock.now + .milliseconds(100) }
                return
            }
            let socket = SharedDescriptor(raw)
            // `accept4` is not visible to Swift.
            guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0, fcntl(raw, F_SETFL, O_NONBLOCK) == 0,
                let peer = AgentPeer(of: socket), peer.user == geteuid()
            else { continue }
            last += 1
            connections[last] = AgentConnection(socket, peer, listener, until: clock.now + limits.deadline)
        }
    }

    private func serve(_ id: Int, _ connection: AgentConnection, _ events: Int32) {
        guard connections[id] === connection else { return }
        if events & POLLOUT != 0 { return flush(id, connection) }
        guard events & POLLIN != 0, connection.task == nil, connection.output.isEmpty else { return drop(id) }
        let count: Int
        switch connection.socket.receive(into: &buffer) {
        case .bytes(let received): count = received
        case .wouldBlock: return
        case .ended: return drop(id)
        }
        if let refusal = connection.refusal {
            connection.refusal = nil
            return answer(id, refusal)
        }
        connection.input += buffer[..<count]
        let step = connection.scanner.scan(connection.input)
        switch step {
        case .complete(let end) where end <= AgentRequest.maximumBytes:
            let arrival = AgentServer.Arrival(
                bytes: Array(connection.input[..<end]),
                peer: connection.peer,
                listener: connection.listener
            )
            connection.input = []
            connection.deadline = nil
            let (respond, channel) = (respond, channel)
            connection.task = Task { channel.post(await respond(arrival), to: id) }
        case .incomplete where connection.input.count <= AgentRequest.maximumBytes: break
        case .notAnObject:
            let refusal = refuse("this agent takes plain JSON objects only")
            connection.refusal = refusal
            answer(id, refusal)
        case .complete, .incomplete: answer(id, refuse("the request is longer than 64 KiB"))
        }
    }

    private func answer(_ id: Int, _ bytes: [UInt8]) {
        guard let connection = connections[id] else { return }
        connection.input = []
        connection.output = bytes[...]
        connection.deadline = clock.now + limits.deadline
        flush(id, connection)
    }

    private func flush(_ id: Int, _ connection: AgentConnection) {
        while !connection.output.isEmpty {
            switch connection.socket.send(connection.output) {
            case .bytes(let count): connection.output = connection.output.dropFirst(count)
            case .wouldBlock: return
            case .ended: return drop(id)
            }
        }
        if connection.refusal == nil { drop(id) }
    }

    private func drop(_ id: Int) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        connection.task?.cancel()
        // Unread bytes would turn the close into a reset.
        for _ in 0..<16 {
            guard case .bytes(buffer.count) = connection.socket.receive(into: &buffer) else { break }
        }
    }

    private func expire() {
        let now = clock.now
        if let again = acceptsAgainAt, again <= now { acceptsAgainAt = nil }
        for (id, connection) in connections {
            guard let deadline = connection.deadline, deadline <= now else { continue }
            if connection.input.isEmpty { drop(id) } else { answer(id, refuse("the request did not end in time")) }
        }
    }

    private var nextDeadline: ContinuousClock.Instant? {
        (connections.values.compactMap(\.deadline) + [acceptsAgainAt, endsAt].compactMap(\.self)).min()
    }
}
