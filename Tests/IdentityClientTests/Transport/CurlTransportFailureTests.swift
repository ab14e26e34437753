// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityResources
import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct CurlTransportFailureTests {
    @Test func aPortThatIsNotReachedIsNamed() async throws {
        let server = try ScriptedServer(answering: "")
        let request = HTTPRequest.get(server)
        server.close()
        let error = try await CurlTransport().failure(request)
        let place = try #require(request.authority)
        #expect(error?.code == .connectionFailed && error?.message.contains("No connection to \(place).") == true)
        #expect(place.contains(":"))
    }

    /// Its beginning is read in any case, for the refresh token that may stand there.
    @Test(arguments: [
        "Transfer-Encoding: chunked\r\n\r\n3200000\r\n", "Connection: close\r\n\r\n",
        "Content-Length: 52428800\r\n\r\n",
    ])
    func aVastAnswerIsRefusedWhileItArrives(framing: String) async throws {
        let server = try ScriptedServer { _ in
            [.send(Array("HTTP/1.1 200 OK\r\n\(framing)".utf8)), .send([UInt8](repeating: 65, count: 52_428_800))]
        }
        defer { server.close() }

        #expect(try await CurlTransport().failure(.get(server))?.code == .malformedResponse)
        #expect(await happens { server.openConnections == 0 })
        #expect(server.bytesSent < 20_000_000)
    }

    @Test func anAnswerOfExactlyTheLimitIsAccepted() async throws {
        let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour")
        defer { server.close() }

        let (_, body) = try await CurlTransport(maximumResponseBytes: 4).send(.get(server), body: nil)
        #expect(body.count == 4)
        #expect(
            try await CurlTransport(maximumResponseBytes: 3).failure(.get(server))?.code == .malformedResponse
        )
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n", "A: \(String(repeating: "b", count: 1000))\r\n"),
        ("", "HTTP/1.1 103 Early\r\nA: b\r\n\r\n"),
    ])
    func endlessHeaderFieldsAreRefused(start: String, repeated: String) async throws {
        let server = try ScriptedServer { _ in
            [.send(Array(start.utf8)), .sendForever(Array(repeated.utf8), everyMilliseconds: 0)]
        }
        defer { server.close() }

        #expect(try await CurlTransport().failure(.get(server))?.code == .malformedResponse)
    }

    @Test(arguments: [nil, "gzip"])
    func decompressesWhatWasNotAskedFor(asked: String?) async throws {
        let server = try ScriptedServer(answering: Compression.gzip(Array("text".utf8)), coding: "gzip")
        defer { server.close() }
        var request = HTTPRequest.get(server)
        request.headerFields[.acceptEncoding] = asked

        let (response, body) = try await CurlTransport().send(request, body: nil)

        #expect(server.requests.first?.values("Accept-Encoding") == [asked ?? "identity"])
        #expect(response.headerFields[.contentEncoding] == "gzip")
        #expect(body == (asked == nil ? Array("text".utf8) : Compression.gzip(Array("text".utf8))))
    }

    /// The beginning of what comes out is kept, as of any answer that is too large.
    @Test func theLimitCountsWhatComesOut() async throws {
        let server = try ScriptedServer(answering: Compression.zeros, coding: "gzip")
        defer { server.close() }
        #expect(Compression.zeros.count < 16 << 10)

        let error = try #require(try await CurlTransport().failure(.get(server)))

        #expect(error.code == .malformedResponse)
        #expect((error.underlyingError as? OversizedAnswer)?.beginning.count == 1 << 20)
        #expect(
            try await CurlTransport(maximumResponseBytes: 3 << 20).send(.get(server), body: nil).1.count == 8320 * 258
                + 1
        )
    }

    @Test func namesACompressionThatItDoesNotRead() async throws {
        let server = try ScriptedServer(answering: [0x1F, 0x9D, 0x90], coding: "compress")
        defer { server.close() }
        let error = try #require(try await CurlTransport().failure(.get(server)))
        #expect(error.code == .malformedResponse && error.message.contains("is compressed, which was not asked for"))
    }

    @Test func anEndlessDripEndsWithTheTotalTime() async throws {
        let server = try ScriptedServer { _ in
            [
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".utf8)),
                .sendForever([65], everyMilliseconds: 10),
            ]
        }
        defer { server.close() }
        let transport = CurlTransport(timeout: .milliseconds(300))

        let clock = ContinuousClock()
        let start = clock.now
        let error = try await transport.failure(.get(server))

        #expect(error?.code == .networkTimedOut)
        #expect(error?.message.contains("127.0.0.1") == true)
        #expect(clock.now - start >= .milliseconds(250))
        #expect(clock.now - start < .seconds(5))
    }

    /// A provider may be slow, as an old AD FS is.
    @Test func leavesTheTimeOfARequestToTheConfiguration() throws {
        var configuration = ClientConfiguration(
            clientID: "c",
            authority: try .adfs(host: "fs.example.test"),
            cache: InMemoryTokenCache()
        )
        configuration.requestTimeout = .seconds(60)
        let client = try PublicClientApplication(configuration).environment.client
        let settings = try #require(client.transport as? CurlTransport).settings
        #expect(client.deadline == .seconds(60) && settings.timeoutMilliseconds >= 60_000)
        #expect(settings.stallSeconds == 30)
        let own = CurlTransport(timeout: .seconds(5)).settings
        #expect(own.timeoutMilliseconds == 5000 && own.stallSeconds == 5)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nfour",
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "",
    ])
    func aBrokenAnswerIsAFailedConnection(text: String) async throws {
        let server = try ScriptedServer { _ in [.send(Array(text.utf8)), .close] }
        defer { server.close() }

        #expect(try await CurlTransport().failure(.post(server), body: [1])?.code == .connectionFailed)
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\0\u{1}\u{2}\r\n\r\n", "HTTP/1.1 OK\r\n\r\n"])
    func somethingElseThanHTTPIsANetworkError(text: String) async throws {
        let server = try ScriptedServer { _ in [.send(Array(text.utf8)), .close] }
        defer { server.close() }

        let error = try await CurlTransport().failure(.get(server))
        #expect(error?.code.primary == .network)
    }

    @Test func aRefusedConnectionIsSaidWithItsHost() async throws {
        let server = try ScriptedServer(answering: "")
        let request = HTTPRequest.get(server, "/token?code=secret")
        server.close()

        let error = try await CurlTransport().failure(request)

        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("127.0.0.1") == true)
        #expect(String(reflecting: error).contains("secret") == false)
    }

    /// Without a connection, the server cannot have acted.
    @Test(arguments: [CurlTransport(connectTimeout: .seconds(2)), .takenForAnOlderLibrary()])
    func aRequestThatWasNeverSentIsKnown(transport: CurlTransport) async throws {
        let closed = try ScriptedServer(answering: "")
        closed.close()
        #expect(await happens { closed.openConnections == 0 })
        #expect(try await wasSent(.post(closed), by: transport) == (.connectionFailed, false))
        let broken = try ScriptedServer { _ in [.close] }
        defer { broken.close() }
        #expect(try await wasSent(.post(broken), by: transport) == (.connectionFailed, true))
    }

    @Test func aTimeOutTellsWhetherTheRequestWasSent() async throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        let transport = CurlTransport(timeout: .seconds(1), connectTimeout: .seconds(1))
        #expect(try await wasSent(.post(server), by: transport) == (.networkTimedOut, true))
        // The server waits for the rest of a head, and the transport for the answer to its ClientHello.
        var greeting = HTTPRequest.post(server)
        greeting.scheme = "https"
        #expect(try await wasSent(greeting, by: transport) == (.networkTimedOut, false))
    }

    private func wasSent(
        _ request: HTTPRequest,
        by transport: CurlTransport
    ) async throws -> (AuthenticationError.Code?, Bool?) {
        let error = try await transport.failure(request, body: [1])
        return (error?.code, (error?.underlyingError as? CurlFailure)?.wasSent)
    }

    @Test func anUnknownNameIsSaid() async throws {
        let request = HTTPRequest(method: .get, scheme: "https", authority: "nope.invalid", path: "/?code=secret")

        let error = try await CurlTransport().failure(request)

        #expect(error?.code == .nameNotResolved)
        #expect(error?.message.contains("nope.invalid") == true)
        #expect(String(reflecting: error).contains("secret") == false)
    }

    @Test func aMissingLibraryIsSaidWithItsPackage() async throws {
        let server = try ScriptedServer(answering: "")
        defer { server.close() }
        let transport = CurlTransport.withLibraries("libnothing.so.4", "libnothing-gnutls.so.4")

        transport.prepare()
        let error = try await transport.failure(.get(server))

        #expect(error?.code == .transportUnavailable)
        #expect(error?.message.contains("libcurl4") == true)
        #expect(error?.message.contains("libnothing.so.4: ") == true)
    }

    @Test func aLibraryThatCannotBeLoadedIsSaidInTheLoadersWords() async throws {
        let server = try ScriptedServer(answering: "")
        defer { server.close() }
        let directory = try TemporaryDirectory()
        let library = "\(directory.path)/libcurl.so.4"
        try Data(repeating: 7, count: 200).write(to: URL(filePath: library))

        let error = try await CurlTransport.withLibraries(library, "libnothing.so.4").failure(.get(server))

        #expect(error?.code == .transportUnavailable)
        #expect(error?.message.contains("could not be loaded (\(library): invalid ELF header)") == true)
    }

    @Test func aLibraryThatIsNotCurlIsRefused() async throws {
        let server = try ScriptedServer(answering: "")
        defer { server.close() }
        let transport = CurlTransport.withLibraries("libc.so.6", "libnothing.so.4")

        #expect(try await transport.failure(.get(server))?.code == .transportUnavailable)
    }
}
