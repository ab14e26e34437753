// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import Synchronization
import SystemSupport

/// A port of this computer that leads to the socket of a forwarder, perhaps on another machine. It takes programs of this user
/// alone, and does not read what they send.
final class SocketBridge: Sendable {
    let port: UInt16
    private let path: String
    private let console: Console
    private let listeners: [SharedDescriptor]
    private let wake: (reading: SharedDescriptor, writing: SharedDescriptor)
    private let clients = Mutex(0)

    private static let mostClients = 256
    /// The time in which no byte moves in a direction. Models think long.
    private static let stall = Duration.seconds(900)

    /// Begins to listen.
    ///
    /// - Throws: `SystemCallError` without threads or descriptors.
    init(to path: String, at sockets: ListeningSockets, _ console: Console) throws {
        (self.path, self.console, port, listeners) = (path, console, sockets.port, sockets.descriptors)
        wake = try SharedDescriptor.pair()
        try DetachedThread.start { [self] in run() }
    }

    /// Takes no more programs. Connections end with the process.
    func stop() { _ = shutdown(wake.writing.raw, Int32(SHUT_RDWR)) }

    private func run() {
        let awaited = ([wake.reading] + listeners).map { Poll.Awaited($0.raw) }
        while true {
            let ready = Poll.wait(for: awaited, until: nil)
            if ready[0] != 0 { return }
            guard case .connection(let socket, let peer?) = Acceptance.next(at: listeners, admitsOtherUsers: false),
                clients.withLock({ $0 }) < Self.mostClients
            else { continue }
            clients.withLock { $0 += 1 }
            do {
                try DetachedThread.start(stackBytes: 256 * 1024) { [self] in
                    serve(socket, peer)
                    clients.withLock { $0 -= 1 }
                }
            } catch {
                clients.withLock { $0 -= 1 }
            }
        }
    }

    private func serve(_ client: SharedDescriptor, _ peer: LoopbackPeer) {
        guard peer.owner() == .user(geteuid()) else { return }
        guard let server = AgentSocket.connected(to: path, seconds: 30) else {
            let reason = unsafe String(cString: strerror(errno))
            return console.line("No forwarder answers at \(path.printable): \(reason).")
        }
        // Without a thread for the answers, the client gets none.
        guard (try? DetachedThread.start(stackBytes: 256 * 1024) { Self.pass(server, to: client) }) != nil else {
            return
        }
        Self.pass(client, to: server)
    }

    /// Passes on what comes, until the end of one side.
    private static func pass(_ source: SharedDescriptor, to target: SharedDescriptor) {
        var buffer = [UInt8](repeating: 0, count: 32 * 1024)
        while true {
            switch source.receive(into: &buffer) {
            case .bytes(let count):
                guard send(buffer[..<count], to: target) else { return end(source, target) }
            case .wouldBlock:
                guard Poll.isReady(source.raw, before: .now + stall) else { return end(source, target) }
            case .ended:
                // The other direction may go on.
                _ = shutdown(target.raw, Int32(SHUT_WR))
                return
            }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to target: SharedDescriptor) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            switch target.send(rest) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: guard Poll.isReady(target.raw, POLLOUT, before: .now + stall) else { return false }
            case .ended: return false
            }
        }
        return true
    }

    private static func end(_ source: SharedDescriptor, _ target: SharedDescriptor) {
        for side in [source, target] { _ = shutdown(side.raw, Int32(SHUT_RDWR)) }
    }
}
