// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import LoopbackHTTP
import Synchronization
import SystemSupport

@testable import TokenForwarding

/// A value that threads share.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>
    init(_ value: Value) { content = Mutex(value) }
    var value: Value { content.withLock { $0 } }
    @discardableResult func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        content.withLock { body(&$0) }
    }
}

/// A server behind the forwarder that does with each connection what the test says, on a thread of its own.
final class Upstream: Sendable {
    /// One connection, which blocks.
    final class Connection: Sendable {
        let number: Int
        private let socket: SharedDescriptor
        private let input = Mutex<[UInt8]>([])

        init(_ number: Int, _ socket: SharedDescriptor) {
            (self.number, self.socket) = (number, socket)
        }

        /// Connects to a server on this computer.
        convenience init(to port: UInt16) throws {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            let socket = SharedDescriptor(Glibc.socket(AF_INET, type, 0))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(socket.raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard status == 0, fcntl(socket.raw, F_SETFL, O_NONBLOCK) == 0 else {
                throw SystemCallError("connect", "/")
            }
            self.init(0, socket)
        }

        /// Passes on what comes, until the end.
        func pass(to other: Connection) {
            repeat {
                let bytes = input.withLock { input in
                    defer { input = [] }
                    return input
                }
                other.send(bytes)
            } while receive()
            _ = shutdown(other.socket.raw, Int32(SHUT_WR))
        }

        /// The next head, without the empty line; `nil` at the end.
        func readHead() -> String? {
            while true {
                // A line end is one Character.
                if let head = take(through: "\r\n\r\n") { return String(head.dropLast(2)) }
                guard receive() else { return nil }
            }
        }

        /// The bytes that have come, up to and with `ending`; `nil` at the end of the connection.
        func read(through ending: String) -> String? {
            while true {
                if let text = take(through: ending) { return text }
                guard receive() else { return nil }
            }
        }

        /// Reads and forgets bytes, and returns how many came before the end.
        func discard(_ count: Int) -> Int {
            var left = count
            while true {
                left -= input.withLock { input in
                    let taken = min(left, input.count)
                    input.removeFirst(taken)
                    return taken
                }
                guard left > 0, receive() else { return count - left }
            }
        }

        /// Whether the other side ends the connection in time.
        func isEnded() -> Bool {
            while receive() {}
            return true
        }

        @discardableResult func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                switch socket.send(rest) {
                case .bytes(let count): rest = rest.dropFirst(count)
                case .wouldBlock:
                    guard Poll.isReady(socket.raw, POLLOUT, before: .now + .seconds(20)) else { return false }
                case .ended: return false
                }
            }
            return true
        }

        @discardableResult func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        private func take(through ending: String) -> String? {
            input.withLock { input in
                guard let range = input.firstRange(of: Array(ending.utf8)) else { return nil }
                defer { input.removeFirst(range.upperBound) }
                return String(decoding: input[..<range.upperBound], as: UTF8.self)
            }
        }

        private func receive() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                switch socket.receive(into: &buffer) {
                case .bytes(let count):
                    input.withLock { $0 += buffer[..<count] }
                    return true
                case .wouldBlock: guard Poll.isReady(socket.raw, before: .now + .seconds(20)) else { return false }
                case .ended: return false
                }
            }
        }
    }

    let port: UInt16
    private let listeners: [SharedDescriptor]
    private let count = Box(0)
    private let seen: Box<[String]>

    init(_ seen: Box<[String]> = Box([]), _ serve: @escaping @Sendable (Connection) -> Void) throws {
        self.seen = seen
        let sockets = try ListeningSockets.open(hosts: [.ipv4], port: 0)
        port = sockets.port
        listeners = sockets.descriptors
        try DetachedThread.start { [listeners, count] in
            while Poll.isReady(listeners[0].raw, before: .now + .seconds(60)) {
                guard case .connection(let socket, _) = Acceptance.next(at: listeners, admitsOtherUsers: false) else {
                    return
                }
                let number = count.change { count in
                    count += 1
                    return count
                }
                try? DetachedThread.start { serve(Connection(number, socket)) }
            }
        }
    }

    /// Answers each request with `answer`, and remembers the heads. Bodies must have a length.
    convenience init(answering answer: @escaping @Sendable (_ head: String) -> String) throws {
        let seen = Box<[String]>([])
        try self.init(seen) { connection in
            while let head = connection.readHead() {
                seen.change { $0.append(head) }
                let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                _ = connection.discard(length.flatMap { Int($0.dropFirst(16)) } ?? 0)
                connection.send(answer(head))
            }
        }
    }

    var heads: [String] { seen.value }
    var connections: Int { count.value }

    func close() {
        for listener in listeners { _ = shutdown(listener.raw, Int32(SHUT_RDWR)) }
    }

    deinit { close() }
}

/// Gives `T1`, and another token after each refusal.
final class NumberedDesk: TokenDesk {
    let wishes = Box<[TokenWish]>([])
    private let answer: @Sendable (TokenWish, Int) throws(ForwardingProblem) -> String

    init(
        _ answer: @escaping @Sendable (TokenWish, Int) throws(ForwardingProblem) -> String = { wish, number in
            wish.refused == nil ? "T1" : "T\(number)"
        }
    ) {
        self.answer = answer
    }

    func token(for wish: TokenWish) throws(ForwardingProblem) -> String {
        let number = wishes.change { wishes in
            wishes.append(wish)
            return wishes.count
        }
        return try answer(wish, number)
    }
}

/// A forwarder at a port of its own, with what went through it.
final class RunningForwarder: Sendable {
    let port: UInt16
    let forwarder: Forwarder
    let desk: NumberedDesk
    private let noted = Box<[ForwardedExchange]>([])
    var notes: [ForwardedExchange] { noted.value }

    init(
        to authority: String,
        scheme: String = "http",
        desk: NumberedDesk = NumberedDesk(),
        limits: ForwardingLimits = ForwardingLimits(),
        _ change: (inout ForwardingRoute) -> Void = { _ in }
    ) throws {
        let sockets = try ListeningSockets.open(hosts: [.ipv4], port: 0)
        var route = ForwardingRoute(name: "work", scheme: scheme, authority: authority, phantom: phantom, access: .both)
        change(&route)
        self.desk = desk
        port = sockets.port
        forwarder = try Forwarder(
            route,
            at: .port(port),
            listeners: sockets.descriptors,
            desk: desk,
            limits: limits,
            note: { [noted] exchange in noted.change { $0.append(exchange) } }
        )
    }

    deinit { forwarder.stop() }

    func head(_ line: String, _ fields: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(phantom)\r\n\(fields)\r\n"
    }

    func connect() throws -> RawConnection { try RawConnection(port: port) }
}

/// A forwarder at a socket in the file system.
final class AtASocket {
    private let folder: TemporaryDirectory
    private let forwarder: Forwarder
    private var path: String { "\(folder.path)/work.sock" }

    init(
        to authority: String,
        access: ForwardingRoute.Access = .user,
        note: @escaping @Sendable (ForwardedExchange) -> Void = { _ in }
    ) throws {
        folder = try TemporaryDirectory()
        let route = ForwardingRoute(
            name: "work",
            scheme: "http",
            authority: authority,
            phantom: phantom,
            access: access
        )
        let listener = try UnixSocket.listen(at: "\(folder.path)/work.sock")
        forwarder = try Forwarder(route, at: .socket, listeners: [listener], desk: NumberedDesk(), note: note)
    }

    deinit { forwarder.stop() }

    func connect() throws -> Upstream.Connection {
        guard let socket = UnixSocket.connect(to: path, timeoutSeconds: 20) else {
            throw SystemCallError("connect", path)
        }
        return Upstream.Connection(0, socket)
    }
}
