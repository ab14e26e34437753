// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import SystemSupport

/// The channel from tasks and the server's owner to the loop's thread.
final class LoopChannel: Sendable {
    /// Bytes for a connection, and the next step after them.
    struct Delivery: Sendable {
        enum Next: Sendable {
            /// More bytes follow; the writer waits until these are taken.
            case more(CheckedContinuation<Void, any Error>)
            case end(keepsAlive: Bool, onDelivery: (@Sendable (Bool) -> Void)?)
        }

        var connection: UInt64
        var bytes: [UInt8]
        var next: Next

        /// Tells the writer that the connection is gone.
        func fail() {
            switch next {
            case .more(let writer): writer.resume(throwing: CancellationError())
            case .end(_, let onDelivery): onDelivery?(false)
            }
        }
    }

    private struct State {
        var deliveries: [Delivery] = []
        var isClosed = false
        var listeners: [SharedDescriptor]
    }

    private let state: Mutex<State>
    private let wake: (reading: SharedDescriptor, writing: SharedDescriptor)

    init(listeners: [SharedDescriptor]) throws {
        wake = try SharedDescriptor.pair()
        state = Mutex(State(listeners: listeners))
    }

    func post(_ delivery: Delivery) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.deliveries.append(delivery) }
            return state.isClosed
        }
        guard !isClosed else { return delivery.fail() }
        signal()
    }

    /// Stops listening now. The thread ends the connections.
    func close() {
        state.withLock { state in
            state.isClosed = true
            // A polling thread keeps a closed socket alive for a moment; this ends its listening.
            for listener in state.listeners { _ = shutdown(listener.raw, Int32(SHUT_RDWR)) }
            state.listeners = []
        }
        signal()
    }

    /// The descriptors to poll besides the connections; readable if there are deliveries, or a client at a listener.
    func pollable() -> (wake: Int32, listeners: [Int32]) {
        (wake.reading.raw, state.withLock { $0.listeners.map(\.raw) })
    }

    /// All posted deliveries, in order.
    func takeDeliveries() -> (deliveries: [Delivery], isClosed: Bool) {
        var buffer = [UInt8](repeating: 0, count: 64)
        while unsafe recv(wake.reading.raw, &buffer, buffer.count, 0) == buffer.count {}
        return state.withLock { state in
            let taken = state.deliveries
            state.deliveries = []
            return (taken, state.isClosed)
        }
    }

    /// The next client at any listener.
    func accept() -> Acceptance {
        state.withLock { .next(at: $0.listeners, admitsOtherUsers: false) }
    }

    private func signal() {
        var byte: UInt8 = 1
        // A full buffer wakes the thread too.
        _ = unsafe Glibc.send(wake.writing.raw, &byte, 1, Int32(MSG_NOSIGNAL))
    }
}

extension LoopChannel {
    /// Sends an answer from the task that created it.
    func send(_ response: LoopbackResponse, to request: LoopbackRequest, on connection: UInt64, keepsAlive: Bool) async
    {
        let writer = LoopbackBodyWriter { bytes in
            try Task.checkCancellation()
            try await withCheckedThrowingContinuation { continuation in
                self.post(Delivery(connection: connection, bytes: bytes, next: .more(continuation)))
            }
        }
        var rest: [UInt8] = []
        var staysOpen = false
        switch response.body {
        case .bytes:
            staysOpen = keepsAlive && !response.closesConnection
            rest = response.encoded(for: request.method, closing: !staysOpen)
        case .stream(let produce):
            // If the closure throws, the client's answer ends early.
            try? await writer.write(response.encoded(for: request.method, closing: true))
            if request.method != "HEAD" { try? await produce(writer) }
        case .raw(let produce):
            try? await produce(writer)
        }
        let next = Delivery.Next.end(keepsAlive: staysOpen, onDelivery: response.onDelivery)
        post(Delivery(connection: connection, bytes: rest, next: next))
    }
}
