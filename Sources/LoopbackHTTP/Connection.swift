// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// One client's connection, used only on the loop's thread.
final class Connection {
    enum Phase {
        /// A request is arriving.
        case reading
        /// A task is creating the answer.
        case answering
        /// The answer is complete, but the system has not taken all of it.
        case finishing(keepsAlive: Bool, onDelivery: (@Sendable (Bool) -> Void)?)
        /// The answer is sent and our side is shut. The client's further bytes are read and discarded, because closing
        /// with unread bytes would revoke the answer.
        case lingering
    }

    let socket: SharedDescriptor
    let peer: LoopbackPeer?
    var phase = Phase.reading
    var input: [UInt8] = []
    /// The parser's progress in `input`.
    var progress = RequestParser.Progress()
    var task: Task<Void, Never>?
    var deadline: ContinuousClock.Instant?
    /// Whether the client begins with a TLS handshake, as no HTTP request does. Such a client waits for a TLS answer.
    /// - SeeAlso: [RFC 8446 §5.1](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
    var beginsTLS: Bool { input.first == 0x16 }
    private(set) var hasOutput = false
    private var output: ArraySlice<UInt8> = []
    private var writers: [CheckedContinuation<Void, any Error>] = []

    init(_ socket: SharedDescriptor, from peer: LoopbackPeer?) {
        self.socket = socket
        self.peer = peer
    }

    /// The events to poll for; errors and hang-ups are always reported.
    var interest: Int32 {
        var interest: Int32 = 0
        switch phase {
        case .reading, .lingering: interest |= POLLIN
        case .answering, .finishing: break
        }
        if hasOutput { interest |= POLLOUT }
        return interest
    }

    func append(_ bytes: [UInt8], writer: CheckedContinuation<Void, any Error>? = nil) {
        if output.isEmpty { output = bytes[...] } else { output += bytes }
        hasOutput = !output.isEmpty
        if let writer { writers.append(writer) }
    }

    /// Writes as many bytes as the system takes.
    /// - Returns: Whether the connection still exists, and whether any bytes were written.
    func flush() -> (stands: Bool, moved: Bool) {
        var moved = false
        while !output.isEmpty {
            switch socket.send(output) {
            case .bytes(let count):
                output = output.dropFirst(count)
                moved = true
            case .wouldBlock: return (true, moved)
            case .ended: return (false, moved)
            }
        }
        output = []
        hasOutput = false
        let waiting = writers
        writers = []
        for writer in waiting { writer.resume() }
        return (true, moved)
    }

    /// Cancels the answer and resumes its writers with an error.
    func end() {
        task?.cancel()
        if case .finishing(_, let onDelivery) = phase { onDelivery?(false) }
        let waiting = writers
        writers = []
        for writer in waiting { writer.resume(throwing: CancellationError()) }
        // Unread bytes would turn the close into a reset, which revokes sent bytes.
        var scrap = [UInt8](repeating: 0, count: 64 * 1024)
        _ = socket.receive(into: &scrap)
    }
}
