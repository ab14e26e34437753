// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import Testing

/// Requests while a call of libcurl does not return, as with a resolver that never answers.
@Suite(.timeLimit(.minutes(1))) struct CurlHeldUpTests {
    /// libcurl reads the certificate authorities on the driver's thread; from a FIFO, it reads until the last writer closes.
    @Test func laterRequestsGetAThreadOfTheirOwn() async throws {
        let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        defer { server.close() }
        let directory = try TemporaryDirectory()
        let authorities = "\(directory.path)/authorities"
        try CallFailed.check(unsafe mkfifo(authorities, 0o600), "mkfifo")
        let transport = CurlTransport.withoutPatience(certificateAuthorities: authorities)
        var secure = HTTPRequest.get(server)
        secure.scheme = "https"

        let holding = Task { [secure] in try await transport.failure(secure) }
        var writer: Int32 = -1
        #expect(
            await happens {
                writer = unsafe open(authorities, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return writer >= 0
            }
        )
        let waiting = Task.immediate { try await transport.send(.get(server), body: nil).0.status }
        let (answer, _) = try await transport.send(.get(server), body: nil)

        #expect(answer.status == .ok)
        // A second attempt to open the file does not block.
        try CallFailed.check(unsafe unlink(authorities), "unlink")
        close(writer)
        #expect(try await holding.value?.code == .tlsFailed)
        #expect(try await waiting.value == .ok, "what the first thread was given it does in the end")
    }

    @Test func aThreadThatLooksForWorkIsNotHeldUp() async throws {
        let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        defer { server.close() }
        let transport = CurlTransport()

        for _ in 0..<5 { _ = try await transport.send(.get(server), body: nil) }

        #expect(server.connections == 1)
    }
}
