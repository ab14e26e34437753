// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
package import HTTPTypes
import Synchronization

/// A TCP server on 127.0.0.1 that reads requests and plays back bytes, delays and drops, well-formed or not.
package final class ScriptedServer: Sendable {
    /// An action of the server after it has read a request.
    package enum Action: Sendable {
        case send([UInt8])
        /// Waits before the next action.
        case wait(milliseconds: Int)
        /// Sends `bytes` again and again, until the other side or the server closes.
        case sendForever([UInt8], everyMilliseconds: Int)
        /// Reads and discards the request's body, if the server does not read bodies first.
        case discardBody
        /// Neither answers nor closes.
        case stall
        case close
    }

    package struct Request: Sendable {
        /// Counted from 0.
        package var connection: Int
        /// The request line and the fields, as received.
        package var head: String
        package var body: [UInt8]

        package var line: String { String(head.prefix { $0 != "\r\n" }) }

        /// The values of a field, in order.
        package func values(_ name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { line in
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                    return nil
                }
                return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
        }
    }

    private struct State {
        var open: Set<Int32> = []
        var requests: [Request] = []
        package var connections = 0
        var bytesSent = 0
        var isClosed = false
    }

    package let port: UInt16
    private let listener: Int32
    private let state = Mutex(State())
    private let script: @Sendable (Request) -> [Action]
    private let readsBodies: Bool

    /// - Parameter readsBodies: Whether it takes a request's body before it acts, and not only what came with the head.
    package init(readsBodies: Bool = true, _ script: @escaping @Sendable (Request) -> [Action]) throws {
        self.script = script
        self.readsBodies = readsBodies
        (listener, port) = try RawSocket.listen()
        Thread.detachNewThread { [self] in accept() }
    }

    package convenience init(answering text: String) throws {
        try self.init { _ in [.send(Array(text.utf8))] }
    }

    /// Ends all connections and the server's threads.
    package func close() {
        let open = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed ? [] : Array(state.open) + [listener]
        }
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    package var requests: [Request] { state.withLock { $0.requests } }
    package var connections: Int { state.withLock { $0.connections } }
    package var openConnections: Int { state.withLock { $0.open.count } }
    package var bytesSent: Int { state.withLock { $0.bytesSent } }

    private func accept() {
        while let descriptor = RawSocket.accept(listener) {
            let number = state.withLock { state -> Int? in
                guard !state.isClosed else { return nil }
                state.open.insert(descriptor)
                state.connections += 1
                return state.connections - 1
            }
            guard let number else {
                Glibc.close(descriptor)
                break
            }
            Thread.detachNewThread { [self] in
                serve(descriptor, number)
                // The other side knows of the end before the connection counts as closed.
                shutdown(descriptor, Int32(SHUT_RDWR))
                state.withLock { _ = $0.open.remove(descriptor) }
                Glibc.close(descriptor)
            }
        }
        Glibc.close(listener)
    }

    private func serve(_ descriptor: Int32, _ number: Int) {
        var buffer: [UInt8] = []
        while let request = RawSocket.readRequest(
            descriptor,
            connection: number,
            buffer: &buffer,
            readsBody: readsBodies
        ) {
            state.withLock { $0.requests.append(request) }
            for action in script(request) {
                switch action {
                case .send(let bytes):
                    guard send(bytes, to: descriptor) else { return }
                case .wait(let milliseconds):
                    guard RawSocket.waitUnlessClosed(descriptor, milliseconds: milliseconds) else { return }
                case .sendForever(let bytes, let milliseconds):
                    while send(bytes, to: descriptor) {
                        guard RawSocket.waitUnlessClosed(descriptor, milliseconds: milliseconds) else { return }
                    }
                    return
                case .discardBody:
                    guard RawSocket.discardBody(of: request, from: descriptor, &buffer) else { return }
                case .stall:
                    while RawSocket.waitUnlessClosed(descriptor, milliseconds: 60_000) {}
                    return
                case .close:
                    return
                }
            }
        }
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        for start in stride(from: 0, to: bytes.count, by: 65_536) {
            let chunk = Array(bytes[start..<min(start + 65_536, bytes.count)])
            guard RawSocket.write(chunk, to: descriptor) else { return false }
            state.withLock { $0.bytesSent += chunk.count }
        }
        return true
    }
}

/// The socket calls that the server needs.
private enum RawSocket {
    struct Failure: Error { var call: String }

    static func listen() throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard unsafe bind(descriptor, generic, length) == 0, Glibc.listen(descriptor, 256) == 0 else {
                    return Int32(-1)
                }
                return unsafe getsockname(descriptor, generic, &length)
            }
        }
        guard status == 0 else {
            Glibc.close(descriptor)
            throw Failure(call: "bind")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var one: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        return descriptor
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Returns `false` if the other side or the server closed the connection meanwhile.
    static func waitUnlessClosed(_ descriptor: Int32, milliseconds: Int) -> Bool {
        var waiting = pollfd(fd: descriptor, events: 0x2000 /* POLLRDHUP */, revents: 0)
        return unsafe poll(&waiting, 1, Int32(milliseconds)) == 0
    }

    static func discardBody(of request: ScriptedServer.Request, from descriptor: Int32, _ buffer: inout [UInt8]) -> Bool
    {
        let head = buffer.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
        var left = (request.values("content-length").first.flatMap { Int($0) } ?? 0) - (buffer.count - head)
        buffer = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while left > 0 {
            let count = unsafe recv(descriptor, &chunk, min(left, chunk.count), 0)
            guard count > 0 else { return false }
            left -= count
        }
        return true
    }

    static func readRequest(
        _ descriptor: Int32,
        connection: Int,
        buffer: inout [UInt8],
        readsBody: Bool
    ) -> ScriptedServer.Request? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                let head = String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
                var request = ScriptedServer.Request(connection: connection, head: head, body: [])
                guard readsBody else { return request }
                let length = request.values("content-length").first.flatMap { Int($0) } ?? 0
                if buffer.count - range.upperBound >= length {
                    request.body = Array(buffer[range.upperBound..<(range.upperBound + length)])
                    buffer.removeFirst(range.upperBound + length)
                    return request
                }
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }
}

extension HTTPRequest {
    package static func get(_ server: ScriptedServer, _ path: String = "/") -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path)
    }

    package static func post(_ server: ScriptedServer, _ path: String = "/") -> HTTPRequest {
        HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path)
    }
}
