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

    var port: UInt16 { listener.port }

    init(to port: UInt16) throws {
        target = port
        listener = try Listener()
        listener.start { [weak self] in self?.pass($0) }
    }

    /// Loses the next connection on which the text passes.
    func lose(_ loss: Loss) { losses.withLock { $0.next = loss } }

    /// The number of lost connections.
    var count: Int { losses.withLock(\.count) }

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
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let ready = Poll.wait(for: [Poll.Awaited(program.raw), Poll.Awaited(server.raw)], until: nil)
            if ready[0] != 0 {
                guard case .bytes(let count) = program.receive(into: &buffer) else { return }
                switch takeLoss(in: buffer[..<count]) {
                case .request: return
                case .answer: losesAnswer = true
                case .halfAnswer, nil: break
                }
                guard case .bytes(count) = server.send(buffer[..<count]) else { return }
            }
            if ready[1] != 0 {
                guard case .bytes(let count) = server.receive(into: &buffer), !losesAnswer else { return }
                let isHalved = count > 100 && takeHalving()
                let passing = isHalved ? count / 2 : count
                guard case .bytes(passing) = program.send(buffer[..<passing]), !isHalved else { return }
            }
        }
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
