// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct RedirectSenderTests {
    @Test(
        arguments: [
            (.user(1000), true), (.user(0), true), (.user(1001), false), (.user(65534), false), (.gone, false),
            (.unknown, true),
        ] as [(LoopbackPeer.Owner, Bool)]
    )
    func trustsThisUserAndRoot(_ owner: LoopbackPeer.Owner, _ isTrusted: Bool) {
        #expect(RedirectSender(users: [1000, 0]).mayBe(owner) == isTrusted)
    }

    @Test(
        arguments: [
            ([:], [7, 0]), (["SUDO_UID": "1000"], [7, 0, 1000]), (["PKEXEC_UID": "1000"], [7, 0, 1000]),
            (["SUDO_UID": "", "PKEXEC_UID": "1000"], [7, 0, 1000]), (["SUDO_UID": "-1"], [7, 0]),
            (["SUDO_UID": "x"], [7, 0]),
        ] as [([String: String], Set<UInt32>)]
    )
    func trustsWhoBecameThisUser(_ variables: [String: String], _ users: Set<UInt32>) {
        #expect(RedirectSender(user: 7) { variables[$0] }.users == users)
    }

    @Test func refusesARedirectFromAnotherUsersProgram() async throws {
        let receiver = LoopbackRedirectReceiver(limits: .init(), sender: RedirectSender(users: [geteuid() + 1]))
        let listener = try await receiver.start(for: .loopback, responseMode: .query)
        let port = UInt16(try #require(listener.redirectURI.port))
        let answer = try await exchange("GET /?code=a HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        #expect(answer.hasPrefix("HTTP/1.1 403"))
        #expect(answer.contains("The application does not wait for this sign-in."))
        await listener.close()
    }

    /// The page tells how the sign-in ended, and its delivery ends the wait.
    @Test func showsThePageToNoOtherUser() async throws {
        let queue = RedirectQueue(
            responseMode: .query,
            path: "",
            template: RedirectPageTemplate(),
            sender: RedirectSender(users: [geteuid() + 1])
        ) { _, _, _ in .donePage }
        let server = try LoopbackServer.start { await queue.respond(to: $0) }
        defer { server.close() }
        queue.open(at: try #require(URL(string: "http://localhost:\(server.port)")), port: server.port)
        let answer = try await exchange("GET /?done HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port)
        #expect(answer.hasPrefix("HTTP/1.1 403"))
    }

    /// As above, with another user of the computer, whose request must not replace the person's own.
    @Test(.enabled(if: geteuid() == 0, "only root can become somebody else"))
    func waitsOnWhereAnotherUserSentSomething() async throws {
        let listener = try await LoopbackRedirectReceiver().start(for: .loopback, responseMode: .query)
        let port = UInt16(try #require(listener.redirectURI.port))
        let script = """
            exec 3<>/dev/tcp/127.0.0.1/\(port)
            printf 'GET /?code=theirs HTTP/1.1\\r\\nHost: localhost:\(port)\\r\\n\\r\\n' >&3
            head -1 <&3
            """
        #expect(try await asNobody(script).hasPrefix("HTTP/1.1 403"))
        async let answer = exchange("GET /?code=ours HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        let redirect = try await listener.receive()
        #expect(redirect.url.query() == "code=ours")
        await listener.answer(redirect, with: RedirectPage(outcome: .refused))
        _ = try await answer
        await listener.close()
    }

    /// Runs a script as another user and returns its output.
    private func asNobody(_ script: String) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script]
        let output = try PrivatePipe()
        process.standardOutput = output.writing
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.run()
        try output.writing.close()
        for await _ in ends {}
        return String(decoding: output.reading.availableData, as: UTF8.self)
    }
}
