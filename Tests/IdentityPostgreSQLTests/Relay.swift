// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import SystemSupport

/// A relay on the loopback interface between programs and a server, which loses connections when it is told to.
final class Relay: Sendable {
    enum Loss: Sendable {
        /// Once a text passes to the server, the connection is lost before the server gets it.
        case request(having: String)
        /// The same, and the connection is lost after the server has answered, before the program gets the answer.
        case answer(afterRequestHaving: String)
        /// Half of the next answer above 100 bytes passes, and the connection is lost.
        case halfAnswer
    }

    private let listener: Listener
    private let target: UInt16
    private let losses = Mutex<(next: Loss?, count: Int)>((nil, 0))
    private let dropsNotifications: Bool
    private let lookups = Mutex(0)

    var port: UInt16 { listener.port }

    /// - Parameter dropsNotifications: Whether what the server tells by itself is lost. Then a connection needs
    ///   `sslmode=disable`.
    init(to port: UInt16, dropsNotifications: Bool = false) throws {
        target = port
        self.dropsNotifications = dropsNotifications
        listener = try Listener()
        listener.start { [weak self] in self?.pass($0) }
    }

    /// Loses the next connection on which the text passes.
    func lose(_ loss: Loss) { losses.withLock { $0.next = loss } }

    /// The number of lost connections.
    var count: Int { losses.withLock(\.count) }

    /// The number of questions for a record that have passed.
    var lookupCount: Int { lookups.withLock(\.self) }

    private func pass(_ program: SharedDescriptor) {
        let server = SharedDescriptor(socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = Listener.address(target)
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(server.raw, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        var losesAnswer = false
        var unread: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let ready = Poll.wait(for: [Poll.Awaited(program.raw), Poll.Awaited(server.raw)], until: nil)
            if ready[0] != 0 {
                guard case .bytes(let count) = program.receive(into: &buffer) else { return }
                if String(decoding: buffer[..<count], as: UTF8.self).contains("SELECT content") {
                    lookups.withLock { $0 += 1 }
                }
                switch takeLoss(in: buffer[..<count]) {
                case .request: return
                case .answer: losesAnswer = true
                case .halfAnswer, nil: break
                }
                guard case .bytes(count) = server.send(buffer[..<count]) else { return }
            }
            if ready[1] != 0 {
                guard case .bytes(let count) = server.receive(into: &buffer), !losesAnswer else { return }
                if dropsNotifications {
                    unread += buffer[..<count]
                    let passing = Self.takeMessages(from: &unread)
                    guard passing.isEmpty || send(passing, to: program) else { return }
                    continue
                }
                let isHalved = count > 100 && takeHalving()
                let passing = isHalved ? count / 2 : count
                guard case .bytes(passing) = program.send(buffer[..<passing]), !isHalved else { return }
            }
        }
    }

    /// Takes the whole messages but notifications.
    private static func takeMessages(from bytes: inout [UInt8]) -> [UInt8] {
        var passing: [UInt8] = []
        while bytes.count >= 5 {
            let end = 1 + bytes[1..<5].reduce(0) { $0 << 8 | Int($1) }
            guard bytes.count >= end else { break }
            if bytes[0] != UInt8(ascii: "A") { passing += bytes[..<end] }
            bytes.removeFirst(end)
        }
        return passing
    }

    private func send(_ bytes: [UInt8], to program: SharedDescriptor) -> Bool {
        guard case .bytes(bytes.count) = program.send(bytes[...]) else { return false }
        return true
    }

    private func takeHalving() -> Bool {
        losses.withLock { losses in
            guard case .halfAnswer = losses.next else { return false }
            losses = (nil, losses.count + 1)
            return true
        }
    }

    private func takeLoss(in bytes: ArraySlice<UInt8>) -> Loss? {
        let text = String(decoding: bytes, as: UTF8.self)
        return losses.withLock { losses in
            switch losses.next {
            case .request(let part) where text.contains(part), .answer(let part) where text.contains(part):
                defer { losses = (nil, losses.count + 1) }
                return losses.next
            default: return nil
            }
        }
    }
}

/// A port of the loopback interface, with a thread for each connection.
final class Listener: Sendable {
    let port: UInt16
    private let listening: SharedDescriptor

    init() throws {
        listening = SharedDescriptor(socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let descriptor = listening.raw
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard isListening else { throw SystemCallError("listen", "127.0.0.1") }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
        shutdown(listening.raw, Int32(SHUT_RDWR))
    }

    func start(_ serve: @escaping @Sendable (SharedDescriptor) -> Void) {
        let listening = listening
        try? DetachedThread.start {
            while case let accepted = accept(listening.raw, nil, nil), accepted >= 0 {
                let program = SharedDescriptor(accepted)
                try? DetachedThread.start { serve(program) }
            }
        }
    }

    static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
        return address
    }
}
