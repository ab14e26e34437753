// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import Synchronization
import Testing

@testable import LoopbackHTTP

@Suite(.timeLimit(.minutes(1))) struct LoopbackPeerTests {
    private static func row(_ ends: String, _ state: String, user: Int, inode: Int) -> String {
        "   5: \(ends) \(state) 00000000:00000000 00:00000000 00000000  \(user)        0 \(inode) 1 0 20 4 30 10 -1"
    }
    private static let here = row("0100007F:1F90 0100007F:C350", "01", user: 1000, inode: 77)
    private static let hungUp = row("0100007F:1F90 0100007F:C350", "08", user: 1000, inode: 77)
    private static let there = row("0100007F:C350 0100007F:1F90", "01", user: 1001, inode: 78)
    /// The other end belongs to a program that has ended: it has no inode, and its user is listed as root.
    private static let left = row("0100007F:C350 0100007F:1F90", "05", user: 0, inode: 0)
    private static let mapped = row(
        "0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90",
        "01",
        user: 1002,
        inode: 79
    )
    private static let elsewhere = row("0100007F:C351 0100007F:1F90", "01", user: 1003, inode: 80)

    @Test(
        arguments: [
            ([[here, there]], .user(1001)),
            ([[hungUp, there]], .user(1001)),
            ([[there, here]], .user(1001)),
            ([[here, mapped]], .user(1002)),
            ([[elsewhere, here, there]], .user(1001)),
            ([[here, left]], .gone),
            ([[hungUp, left]], .gone),
            ([[hungUp]], .gone),
            ([[elsewhere]], .gone),
            ([[]], .gone),
            // The connection was reset between the two rows of the first lookup.
            ([[here], []], .gone),
            ([[here], [here, there]], .user(1001)),
            // The other end is not in these tables.
            ([[here], [here]], .unknown),
            ([], .unknown),
        ] as [([[String]], LoopbackPeer.Owner)]
    )
    func readsTheTables(_ looks: [[String]], _ owner: LoopbackPeer.Owner) {
        var rest = looks.map { rows in
            let text = "  sl  local_address …\n\(rows.joined(separator: "\n"))\n"
            return SocketTable(text.utf8.map { CChar(bitPattern: $0) })
        }[...]
        let peer = LoopbackPeer(
            here: LoopbackAddress(.ipv4, port: 8080),
            there: LoopbackAddress(.ipv4, port: 50000)
        )
        #expect(peer.owner { rest.popFirst() } == owner)
        #expect(rest.isEmpty)
    }

    @Test(arguments: [LoopbackServer.Host.ipv4, .ipv6])
    func knowsWhoseProgramItIs(_ host: LoopbackServer.Host) async throws {
        let owners = Mutex<[LoopbackPeer.Owner?]>([])
        let server = try LoopbackServer.start(hosts: [host]) { request in
            owners.withLock { $0.append(request.peer?.owner()) }
            return LoopbackResponse(status: 204)
        }
        guard server.hosts == [host] else { return }  // a machine without IPv6
        let answer = try await exchange(
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            port: server.port,
            overIPv6: host == .ipv6
        )
        #expect(answer.hasPrefix("HTTP/1.1 204"))
        #expect(owners.withLock { $0 } == [.user(geteuid())])
    }

    /// Asked about one connection, the kernel names the owner at each end, in less than the tables take to be read.
    @Test func asksTheKernelForOneConnection() async throws {
        let server = try LoopbackServer.start { request in
            let owner = request.peer.flatMap { $0.diagnosed }
            return LoopbackResponse(status: 200, text: "\(owner.map { "\($0)" } ?? "unlisted")")
        }
        let answer = try await exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: server.port)
        #expect(answer.hasSuffix("user(\(geteuid()))"))
        let nowhere = LoopbackPeer(
            here: LoopbackAddress(.ipv4, port: server.port),
            there: LoopbackAddress(.ipv4, port: 1)
        )
        #expect(nowhere.diagnosed == nil)
    }

    /// A client that does not wait for the answer has no owner: it may have sent the request only for its effect.
    @Test(arguments: [false, true]) func knowsThatItHasHungUp(isReset: Bool) async throws {
        let (requests, received) = AsyncStream.makeStream(of: LoopbackRequest.self)
        let (goOn, isOver) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer.start { request in
            received.yield(request)
            for await _ in goOn {}
            return LoopbackResponse(status: 204)
        }
        defer { isOver.finish() }
        var connection: RawConnection? = try RawConnection(port: server.port)
        connection?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        var sent: LoopbackRequest?
        for await request in requests {
            sent = request
            break
        }
        let peer = try #require(sent?.peer)
        #expect(peer.owner() == .user(geteuid()))
        if isReset { connection?.resetsWhenClosed() }
        connection = nil
        #expect(try await eventually { peer.owner() == .gone })
    }
}
