// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// One client. Used on the loop's thread only.
final class Connection {
    enum Phase {
        /// A request is arriving.
        case reading
        /// A task is making the answer.
        case answering
        /// The answer is complete but not all taken by the system.
        case finishing(keepsAlive: Bool, onDelivery: (@Sendable (Bool) -> Void)?)
        /// All is sent and our side shut; what the client still sends is read and thrown away, because closing with
        /// unread bytes would take back the answer.
        case lingering
    }

    let socket: Descriptor
    let peer: LoopbackPeer?
    var phase = Phase.reading
    var input: [UInt8] = []
    /// What is known of `input`.
    var progress = RequestParser.Progress()
    var saidContinue = false
    var task: Task<Void, Never>?
    var deadline: ContinuousClock.Instant?
    /// Whether the client begins with a TLS record, a handshake's: no HTTP begins so. It then waits for an answer in kind.
    /// - SeeAlso: [RFC 8446 §5.1](https://www.rfc-editor.org/rfc/rfc8446#section-5.1)
    var beginsTLS: Bool { input.first == 0x16 }
    private(set) var hasOutput = false
    private var output: ArraySlice<UInt8> = []
    private var writers: [CheckedContinuation<Void, any Error>] = []

    init(_ socket: Descriptor, from peer: LoopbackPeer?) {
        self.socket = socket
        self.peer = peer
    }

    /// What to poll for; errors and hang-ups are always reported.
    var interest: Int16 {
        var interest: Int32 = 0
        switch phase {
        case .reading, .lingering: interest |= POLLIN
        case .answering, .finishing: break
        }
        if hasOutput { interest |= POLLOUT }
        return Int16(interest)
    }

    func append(_ bytes: [UInt8], writer: CheckedContinuation<Void, any Error>? = nil) {
        if output.isEmpty { output = bytes[...] } else { output += bytes }
        hasOutput = !output.isEmpty
        if let writer { writers.append(writer) }
    }

    /// Hands over what the system takes.
    /// - Returns: Whether the connection still stands, and whether it moved.
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

    /// Cancels the answer and tells its writers.
    func end() {
        task?.cancel()
        if case .finishing(_, let onDelivery) = phase { onDelivery?(false) }
        let waiting = writers
        writers = []
        for writer in waiting { writer.resume(throwing: CancellationError()) }
        // Bytes left unread would turn the close into a reset, which takes back what was sent.
        var scrap = [UInt8](repeating: 0, count: 64 * 1024)
        _ = socket.receive(into: &scrap)
    }
}
