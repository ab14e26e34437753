// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP
import SystemSupport

/// One client's connection, on a thread of its own: a request after the other.
final class ForwardedConnection {
    let socket: SharedDescriptor
    let forwarder: Forwarder
    var fromClient = ByteQueue()
    var toClient = ByteQueue()
    var toUpstream = ByteQueue()
    var fromUpstream = ByteQueue()
    /// The server's connection, between two requests.
    var channel: UpstreamChannel?

    init(_ socket: SharedDescriptor, of forwarder: Forwarder) {
        self.socket = socket
        self.forwarder = forwarder
    }

    /// Serves the client until one side ends.
    func run(_ peer: LoopbackPeer?) {
        // At a socket in the file system the user was checked when the client was accepted.
        if forwarder.rules.asksForUser, let peer, peer.owner() != .user(geteuid()) { return }
        while serve() {}
        if let channel = channel.take() { forwarder.pool.keep(channel) }
    }

    /// - Returns: Whether the connection may take another request.
    private func serve() -> Bool {
        var method = "GET"
        do throws(ForwardingProblem) {
            guard let head = try readHead() else { return false }
            if case .request(let name, _) = head.start { method = name }
            return ForwardedFlow(try forwarder.rules.request(head), on: self).run()
        } catch {
            refuse(error, method)
            forwarder.note(ForwardedExchange(route: forwarder.rules.route.name, method: method, problem: error))
            return false
        }
    }

    /// - Returns: `nil` if the client has ended, or has sent no whole head in time.
    private func readHead() throws(ForwardingProblem) -> MessageHead? {
        var parser = HeadParser(.request)
        var deadline = ContinuousClock.now + forwarder.limits.idle
        var (hasBegun, hasWaited) = (false, false)
        while true {
            if !fromClient.isEmpty {
                if !hasBegun { deadline = .now + forwarder.limits.head }
                hasBegun = true
                do throws(MessageProblem) {
                    let found = try fromClient.withSpan { bytes throws(MessageProblem) in try parser.parse(bytes) }
                    if let (head, length) = found {
                        fromClient.drop(length)
                        if !hasWaited { checkChannel() }
                        return head
                    }
                } catch { throw ForwardingProblem(error) }
            }
            fromClient.compact()
            guard waitForClient(until: deadline), receive() else { return nil }
            hasWaited = true
        }
    }

    /// Waits for the client, and lets the server's connection go if that ends meanwhile.
    private func waitForClient(until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let awaited = [Poll.Awaited(socket.raw)] + (channel.map { [Poll.Awaited($0.descriptor)] } ?? [])
            let ready = Poll.wait(for: awaited, until: deadline)
            if ready.count > 1, ready[1] != 0 { checkChannel() }
            if ready[0] != 0 { return true }
            guard ContinuousClock.now < deadline else { return false }
        }
    }

    private func checkChannel() {
        if channel?.isUsable(&fromUpstream) == false { channel = nil }
    }

    /// Adds what the client has sent.
    /// - Returns: `false` if the client has ended.
    func receive() -> Bool {
        var isOpen = true
        unsafe fromClient.fill { room in
            let count = unsafe recv(socket.raw, room.baseAddress, room.count, 0)
            isOpen = count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
            return max(0, count)
        }
        return isOpen
    }

    /// Sends what the client's system takes.
    /// - Returns: `false` if the client has ended.
    func send() -> Bool {
        while !toClient.isEmpty {
            let count = toClient.withSpan { bytes in
                unsafe bytes.withUnsafeBytes {
                    unsafe Glibc.send(socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            }
            guard count >= 0 else { return errno == EAGAIN || errno == EINTR }
            toClient.drop(count)
        }
        return true
    }

    /// Answers in the place of the server, and ends the connection.
    func refuse(_ problem: ForwardingProblem, _ method: String) {
        if problem.code == .phantomWrong {
            _ = Poll.isReady(socket.raw, ForwardedConnection.hangUp, before: .now + forwarder.limits.wrongPhantom)
        }
        toClient.append(problem.answer(to: method, route: forwarder.rules.route.name))
        let deadline = ContinuousClock.now + forwarder.limits.head
        while send(), !toClient.isEmpty, Poll.isReady(socket.raw, POLLOUT, before: deadline) {}
        linger()
    }

    /// Ends our side, and throws away for a while what comes: closing with unread bytes would revoke the answer.
    func linger() {
        _ = shutdown(socket.raw, Int32(SHUT_WR))
        let deadline = ContinuousClock.now + forwarder.limits.linger
        fromClient.clear()
        while Poll.isReady(socket.raw, before: deadline), ContinuousClock.now < deadline, receive() {
            fromClient.clear()
        }
    }

    /// Lets the close be a reset, so that no client takes an answer that was cut for a whole one.
    func reset() {
        var option = Glibc.linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(socket.raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    /// The event that the other side has ended its half.
    static let hangUp: Int32 = 0x2000  // POLLRDHUP
}
