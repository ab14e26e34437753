// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The server's thread: it accepts, reads, parses and writes, and waits for all of it in one `poll`.
final class ConnectionLoop {
    private let channel: LoopChannel
    private let limits: LoopbackServer.Limits
    private let refusal: @Sendable (Int) -> LoopbackResponse
    private let noteTLS: @Sendable () -> Void
    private let respond: @Sendable (LoopbackRequest) async -> LoopbackResponse
    private let parser: RequestParser
    private let clock = ContinuousClock()
    private var connections: [UInt64: Connection] = [:]
    private var lastID: UInt64 = 0
    private var acceptsAgainAt: ContinuousClock.Instant?
    private var buffer = [UInt8](repeating: 0, count: 16 * 1024)

    init(
        channel: LoopChannel,
        limits: LoopbackServer.Limits,
        refuse: @escaping @Sendable (Int) -> LoopbackResponse = { LoopbackResponse(status: $0) },
        onTLS: @escaping @Sendable () -> Void = {},
        respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) {
        self.channel = channel
        self.limits = limits
        refusal = refuse
        noteTLS = onTLS
        self.respond = respond
        parser = RequestParser(limits)
    }

    func run() {
        while true {
            let (wake, listeners) = channel.pollable()
            let order = Array(connections)
            let takesMore = connections.count < limits.maximumConnections && acceptsAgainAt == nil
            var awaited = [Poll.Awaited(wake)]
            awaited += order.map { Poll.Awaited($0.value.socket.raw, $0.value.interest) }
            if takesMore { awaited += listeners.map { Poll.Awaited($0) } }
            let ready = Poll.wait(for: awaited, until: nextDeadline)

            let (deliveries, isClosed) = channel.takeDeliveries()
            guard !isClosed else {
                for delivery in deliveries { delivery.fail() }
                for connection in connections.values { connection.end() }
                return
            }
            for delivery in deliveries { deliver(delivery) }
            for (entry, events) in zip(order, ready.dropFirst()) where events != 0 {
                serve(entry.key, entry.value, events)
            }
            if ready.dropFirst(1 + order.count).contains(where: { $0 != 0 }) { accept() }
            expire()
        }
    }

    private func accept() {
        while connections.count < limits.maximumConnections {
            switch channel.accept() {
            case .connection(let socket, let peer):
                lastID += 1
                let connection = Connection(socket, from: peer)
                connection.deadline = clock.now + limits.requestDeadline
                connections[lastID] = connection
            case .none:
                return
            case .exhausted:
                acceptsAgainAt = clock.now + .milliseconds(100)
                return
            }
        }
    }

    private func serve(_ id: UInt64, _ connection: Connection, _ events: Int32) {
        guard connections[id] === connection else { return }
        if events & POLLOUT != 0 { flush(id, connection) }
        guard connections[id] === connection else { return }
        if events & POLLIN != 0 {
            read(id, connection)
        } else if events & (POLLERR | POLLHUP | POLLNVAL) != 0 {
            drop(id)
        }
    }

    private func read(_ id: UInt64, _ connection: Connection) {
        switch connection.phase {
        case .reading:
            switch connection.socket.receive(into: &buffer) {
            case .bytes(let count):
                connection.input += buffer[..<count]
                guard !connection.beginsTLS else {
                    noteTLS()
                    return drop(id)
                }
                parse(id, connection)
            case .wouldBlock: break
            case .ended: drop(id)
            }
        case .lingering:
            if case .ended = connection.socket.receive(into: &buffer) { drop(id) }
        case .answering, .finishing:
            break
        }
    }

    private func parse(_ id: UInt64, _ connection: Connection) {
        switch parser.parse(connection.input, &connection.progress) {
        case .incomplete:
            break
        case .refused(let status):
            refuse(id, connection, status: status)
        case .complete(var request, let length, let keepsAlive):
            request.peer = connection.peer
            connection.input.removeFirst(length)
            connection.progress = RequestParser.Progress()
            connection.phase = .answering
            connection.deadline = nil
            let (respond, channel) = (respond, channel)
            connection.task = Task { [request] in
                let response = await respond(request)
                await channel.send(response, to: request, on: id, keepsAlive: keepsAlive)
            }
        }
    }

    private func refuse(_ id: UInt64, _ connection: Connection, status: Int) {
        connection.input = []
        connection.append(refusal(status).encoded(for: "GET", closing: true))
        connection.phase = .finishing(keepsAlive: false, onDelivery: nil)
        connection.deadline = clock.now + limits.requestDeadline
        flush(id, connection)
    }

    private func deliver(_ delivery: LoopChannel.Delivery) {
        guard let connection = connections[delivery.connection] else { return delivery.fail() }
        switch delivery.next {
        case .more(let writer):
            connection.append(delivery.bytes, writer: writer)
        case .end(let keepsAlive, let onDelivery):
            connection.append(delivery.bytes)
            connection.phase = .finishing(keepsAlive: keepsAlive, onDelivery: onDelivery)
        }
        connection.deadline = clock.now + limits.requestDeadline
        flush(delivery.connection, connection)
    }

    private func flush(_ id: UInt64, _ connection: Connection) {
        let (stands, moved) = connection.flush()
        guard stands else { return drop(id) }
        if case .reading = connection.phase { return }
        if moved { connection.deadline = clock.now + limits.requestDeadline }
        guard !connection.hasOutput else { return }
        connection.deadline = nil

        guard case .finishing(let keepsAlive, let onDelivery) = connection.phase else { return }
        connection.task = nil
        onDelivery?(true)
        if keepsAlive {
            connection.phase = .reading
            connection.deadline = clock.now + limits.requestDeadline
            if !connection.input.isEmpty { parse(id, connection) }
        } else {
            connection.phase = .lingering
            connection.deadline = clock.now + .seconds(1)
            _ = shutdown(connection.socket.raw, Int32(SHUT_WR))
        }
    }

    private func drop(_ id: UInt64) {
        connections.removeValue(forKey: id)?.end()
    }

    private func expire() {
        let now = clock.now
        if let again = acceptsAgainAt, again <= now { acceptsAgainAt = nil }
        for (id, connection) in connections {
            guard let deadline = connection.deadline, deadline <= now else { continue }
            if case .reading = connection.phase, !connection.input.isEmpty {
                refuse(id, connection, status: 408)
            } else {
                drop(id)
            }
        }
    }

    private var nextDeadline: ContinuousClock.Instant? {
        (connections.values.compactMap(\.deadline) + [acceptsAgainAt].compactMap(\.self)).min()
    }
}
