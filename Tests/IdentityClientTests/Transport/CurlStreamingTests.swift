// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import Synchronization
import Testing

/// Exchanges with streamed bodies, at the level of the transport.
@Suite(.timeLimit(.minutes(1)))
struct CurlStreamingTests {
    struct Broken: Error {}

    /// A body of `pieces`, which ends with an error if it `breaks`.
    final class Pieces: TransportBody {
        let length: Int64
        private let pieces: Mutex<[[UInt8]]>
        private let breaks: Bool

        init(_ pieces: [[UInt8]], length: Int? = nil, breaks: Bool = false) {
            self.length = Int64(length ?? pieces.reduce(0) { $0 + $1.count })
            self.pieces = Mutex(pieces)
            self.breaks = breaks
        }

        func next() async throws -> [UInt8]? {
            let piece = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if piece == nil, breaks { throw Broken() }
            return piece
        }
    }

    private static let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)

    /// With the features of this libcurl, and with those of the oldest supported one.
    static let transports: [@Sendable () -> CurlTransport] = [{ CurlTransport() }, { .takenForAnOlderLibrary() }]

    private func whole(_ exchange: any TransportExchange) async throws -> [UInt8] {
        try await exchange.wholeBody(atMost: .max)
    }

    @Test(arguments: transports.indices)
    func sendsPiecesAndKeepsTheConnection(transport: Int) async throws {
        let server = try ScriptedServer { _ in [.send(Self.ok)] }
        defer { server.close() }
        let transport = Self.transports[transport]()
        for count in [0, 1, 3, 100] {
            let pieces = (0..<count).map { [UInt8](repeating: UInt8($0), count: 10_000) }
            let exchange = try await transport.open(.post(server), body: Pieces(pieces))
            #expect(exchange.response.status == .ok)
            #expect(text(try await whole(exchange)) == "ok")
            #expect(server.requests.last?.body == pieces.flatMap(\.self))
            #expect(server.requests.last?.values("Content-Length") == [String(count * 10_000)])
        }
        #expect(server.connections == 1)
    }

    @Test(arguments: transports.indices)
    func keepsTheMethodOfAGetWithABody(transport: Int) async throws {
        let server = try ScriptedServer { _ in [.send(Self.ok)] }
        defer { server.close() }
        let transport = Self.transports[transport]()
        _ = try await whole(transport.open(.get(server), body: Pieces([[1]])))
        _ = try await transport.send(.get(server), body: [1])
        #expect(server.requests.map(\.line) == ["GET / HTTP/1.1", "GET / HTTP/1.1"])
        #expect(server.requests.map(\.body) == [[1], [1]])
        let head = HTTPRequest(method: .head, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        try await expectError(.invalidArgument) { try await transport.send(head, body: [1]) }
        try await expectError(.invalidArgument) { try await transport.open(head, body: Pieces([[1]])) }
    }

    @Test func leavesAReaderItsTime() async throws {
        let body = [UInt8](repeating: 7, count: 4_000_000)
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n".utf8)), .send(body)]
        }
        defer { server.close() }
        let transport = CurlTransport(timeout: .seconds(1))
        let exchange = try await transport.open(.get(server), body: nil)
        var count = try #require(try await exchange.next()).count
        // The transfer pauses because no task reads it, for longer than the time-out: two others reach theirs meanwhile.
        let silent = try ScriptedServer { _ in [.stall] }
        defer { silent.close() }
        for _ in 0..<2 {
            try await expectError(.networkTimedOut) { try await transport.open(.get(silent), body: nil) }
        }
        while let piece = try await exchange.next() { count += piece.count }
        #expect(count == 4_000_000)
    }

    @Test func givesTheHeadBeforeTheBodyArrives() async throws {
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n".utf8)), .stall]
        }
        defer { server.close() }
        let exchange = try await CurlTransport().open(.get(server), body: nil)
        #expect(exchange.response.status == .ok)
        let body = Task { try await exchange.next() }
        body.cancel()
        await #expect(throws: CancellationError.self) { try await body.value }
        #expect(await happens { server.openConnections == 0 })
    }

    @Test func failsWithTheBodysOwnError() async throws {
        let server = try ScriptedServer { _ in [.send(Self.ok)] }
        defer { server.close() }
        let transport = CurlTransport()
        await #expect(throws: Broken.self) {
            try await transport.open(.post(server), body: Pieces([[1]], length: 2, breaks: true))
        }
        for pieces in [Pieces([[1]], length: 2), Pieces([[1, 2, 3]], length: 2)] {
            try await expectError(.invalidArgument) { try await transport.open(.post(server), body: pieces) }
        }
    }

    @Test func failsWhenNothingMoves() async throws {
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nsome".utf8)), .stall]
        }
        defer { server.close() }
        let exchange = try await CurlTransport(timeout: .seconds(1)).open(.get(server), body: nil)
        try await expectError(.networkTimedOut) { try await whole(exchange) }
    }

    @Test func aBodyThatKeepsMovingMayTakeLongerThanTheTimeout() async throws {
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n".utf8))]
                + (0..<15).flatMap { _ in [.wait(milliseconds: 100), .send([0x78])] as [ScriptedServer.Action] }
        }
        defer { server.close() }
        let exchange = try await CurlTransport(timeout: .seconds(1)).open(.get(server), body: nil)
        #expect(try await whole(exchange).count == 15)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345"])
    func failsWhenTheAnswerIsCutOff(answer: String) async throws {
        let server = try ScriptedServer { _ in [.send(Array(answer.utf8)), .close] }
        defer { server.close() }
        try await expectError(.connectionFailed) {
            try await whole(CurlTransport().open(.post(server), body: Pieces([[1]])))
        }
    }

    @Test func cancellingEndsTheWaitForTheHead() async throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        let transport = CurlTransport(timeout: .seconds(600))  // longer than a test may take
        let call = Task { try await transport.open(.get(server), body: nil) }
        #expect(await happens { server.requests.count == 1 })
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(await happens { server.openConnections == 0 })
    }

    @Test func droppingAnExchangeEndsIt() async throws {
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1".utf8)), .stall]
        }
        defer { server.close() }
        let transport = CurlTransport()
        _ = try await transport.open(.get(server), body: nil)
        #expect(await happens { server.openConnections == 0 })
        // The transport still works.
        let other = try ScriptedServer { _ in [.send(Self.ok)] }
        defer { other.close() }
        #expect(text(try await transport.send(.get(other), body: nil).1) == "ok")
    }

    @Test func manyExchangesPassEachOther() async throws {
        let body = [UInt8](repeating: 7, count: 2_000_000)
        let server = try ScriptedServer { request in
            [
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n".utf8)),
                .send(request.body),
            ]
        }
        defer { server.close() }
        let transport = CurlTransport()
        let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let pieces = Pieces([Array(body.prefix(900_000)), Array(body.dropFirst(900_000))])
                    let exchange = try await transport.open(.post(server), body: pieces)
                    let answer = try await exchange.wholeBody(atMost: .max)
                    return answer == body ? answer.count : -1
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(sizes == [Int](repeating: 2_000_000, count: 8))
    }
}
