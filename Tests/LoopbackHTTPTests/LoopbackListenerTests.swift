// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import Testing

@testable import LoopbackHTTP

@Suite(.timeLimit(.minutes(1))) struct LoopbackListenerTests {
    /// Sockets that listen at port 80, by their address in the kernel's form, and who takes a connection to a host.
    @Test(
        arguments: [
            (["0100007F": 1], "127.0.0.1", [.user(1)]), (["0100007F": 1], "localhost", [.user(1)]),
            (["0100007F": 1], "127.0.0.2", [.unknown]), (["0100007F": 1], "[::1]", [.unknown]),
            (["0200007F": 1], "127.0.0.2", [.user(1)]), (["00000000": 1], "127.0.0.2", [.user(1)]),
            (["00000000000000000000000001000000": 1], "[::1]", [.user(1)]),
            (["00000000000000000000000001000000": 1], "127.0.0.1", [.unknown]),
            (["00000000000000000000000000000000": 1], "[::1]", [.user(1)]),
            (["00000000000000000000000000000000": 1], "127.0.0.1", [.user(1)]),
            (["0000000000000000FFFF00000100007F": 1], "127.0.0.1", [.user(1)]),
            // The nearest address takes the connection.
            (["0100007F": 1, "00000000": 2], "127.0.0.1", [.user(1)]),
            (["00000000": 1, "00000000000000000000000000000000": 2], "127.0.0.1", [.user(1)]),
            // A name has two addresses, and a client tries both.
            (["0100007F": 1, "00000000000000000000000001000000": 2], "localhost", [.user(1), .user(2)]),
            (["00000000": 1, "00000000000000000000000001000000": 2], "localhost", [.user(1), .user(2)]),
            ([:], "localhost", [.unknown]), (["0100007F": 1], "example.org", [.unknown]),
        ] as [([String: UInt32], String, Set<LoopbackPeer.Owner>)]
    )
    func choosesTheSocketAsTheKernelDoes(_ sockets: [String: UInt32], _ host: String, _ owners: Set<LoopbackPeer.Owner>)
    {
        let listener = LoopbackListener { form in
            form.hasSuffix(":0050") ? sockets[String(form.dropLast(5))].map { .user($0) } : nil
        }
        #expect(listener.owners(at: host, port: 80) == owners)
        #expect(listener.owners(at: host, port: 81) == [.unknown])
    }

    @Test(arguments: [LoopbackServer.Host.ipv4, .ipv6])
    func knowsWhoListens(_ host: LoopbackServer.Host) throws {
        let server = try LoopbackServer.start(hosts: [host]) { _ in LoopbackResponse(status: 204) }
        guard server.hosts == [host] else { return }  // a machine without IPv6
        let (own, other) = host == .ipv4 ? ("127.0.0.1", "[::1]") : ("[::1]", "127.0.0.1")
        let me: Set<LoopbackPeer.Owner> = [.user(geteuid())]
        #expect(LoopbackListener.owners(at: own, port: server.port) == me)
        #expect(LoopbackListener.owners(at: "localhost", port: server.port) == me)
        #expect(LoopbackListener.owners(at: other, port: server.port) == [.unknown])
        // Each way by itself. A sandbox may forbid the first.
        let ways = [LoopbackListener.diagnosed(server.port), LoopbackListener.tables()].compactMap(\.self)
        for way in ways { #expect(way.owners(at: own, port: server.port) == me) }
        #expect(!ways.isEmpty)
        server.close()
        #expect(LoopbackListener.owners(at: own, port: server.port) == [.unknown])
    }

    /// An answer of `sock_diag` from Linux 6.1 on x86-64, cut or changed.
    @Test func readsOnlyWholeAnswers() {
        func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
            unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
        }
        func message(_ type: UInt16, length: UInt32, _ body: [UInt8]) -> [UInt8] {
            bytes(length) + bytes(type) + [UInt8](repeating: 0, count: 10) + body
        }
        var body = [2, 10, 0, 0, 0x1F, 0x90, 0, 0, 127, 0, 0, 1] + [UInt8](repeating: 0, count: 60)
        body.replaceSubrange(64..<68, with: bytes(UInt32(70000)))
        let row = message(20, length: 88, body)
        var found: [String: LoopbackPeer.Owner] = [:]
        #expect(SocketQuestion.read(row[...], into: &found) == false)
        #expect(found == ["0100007F:1F90": .user(70000)])
        #expect(SocketQuestion.read((row + message(3, length: 20, [0, 0, 0, 0]))[...], into: &found) == true)
        for broken in [
            message(2, length: 36, [UInt8](repeating: 0, count: 20)), message(20, length: 40, Array(body.prefix(24))),
            Array(row.dropLast(4)), message(20, length: 8, []), message(20, length: .max, body),
        ] {
            #expect(SocketQuestion.read(broken[...], into: &found) == nil)
        }
    }
}
