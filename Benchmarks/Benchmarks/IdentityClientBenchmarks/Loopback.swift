// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import BenchmarkSetup
import Glibc
import HTTPTypes
import IdentityClient

/// Registers the benchmark of a request like a token request, to a server on this computer that only answers.
func loopback() {
    Benchmark("Transport, loopback POST", configuration: .calls) { benchmark, exchange in
        try await benchmark.calls { try await exchange.run() }
    } setup: {
        try Exchange()
    }
}

private struct Exchange: Sendable {
    let transport = CurlTransport()
    let request: HTTPRequest
    let body = [UInt8](repeating: UInt8(ascii: "a"), count: 1400)

    init() throws {
        var request = HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(try Peer.start())", path: "/")
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        self.request = request
    }

    func run() async throws {
        let (_, answer) = try await transport.send(request, body: body)
        precondition(answer.count == Peer.answerSize)
    }
}

/// A minimal server: one thread, one connection at a time, the same answer to every request.
private enum Peer {
    static let answerSize = 2600

    /// Starts the server.
    ///
    /// - Returns: The port.
    static func start() throws -> UInt16 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) + listen(listener, 8) + getsockname(listener, address, &size)
            }
        }
        guard listener >= 0, status == 0 else { throw BenchmarkSetup.Missing() }
        var thread = pthread_t()
        let context = UnsafeMutableRawPointer(bitPattern: Int(listener))
        pthread_create(&thread, nil, { Peer.serve(Int32(Int(bitPattern: $0))) }, context)
        return UInt16(bigEndian: address.sin_port)
    }

    private static func serve(_ listener: Int32) -> UnsafeMutableRawPointer? {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(answerSize)\r\n\r\n"
        let answer = Array(head.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: answerSize)
        var text = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let connection = accept(listener, nil, nil)
            while true {
                // The head and the body come in one packet, or the body comes alone in the last packet.
                var received = 0
                repeat {
                    let count = text.withUnsafeMutableBytes { text in
                        recv(connection, text.baseAddress?.advanced(by: received), text.count - received, 0)
                    }
                    guard count > 0 else { break }
                    received += count
                } while received < 1400 || text[received - 1] != UInt8(ascii: "a")
                guard received > 0 else { break }
                send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            }
            close(connection)
        }
    }
}
