// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

@testable import IdentityResources

/// Uploads and downloads over libcurl.
@Suite(.timeLimit(.minutes(1)))
struct TransferTests {
    private static let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }

    private func file(_ directory: TemporaryDirectory, _ bytes: [UInt8] = content) throws -> String {
        let path = directory.path + "/source"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static let whatMayBeHeld: Int64 = 32 << 20

    /// Returns `count` once it stays the same while the same transport answers fifty further calls, or is too high.
    private func settled(_ client: AuthenticatedClient, _ count: () -> Int64) async throws -> Int64 {
        let server = try ScriptedServer(answering: "HTTP/1.1 204 No Content\r\n\r\n")
        defer { server.close() }
        let (application, account) = (client.application, client.account)
        let client = AuthenticatedClient(
            application: application,
            account: account,
            scopes: client.scopes,
            transport: client.transport
        )
        var (last, calls) = (count(), 0)
        while calls < 50, last < Self.whatMayBeHeld {
            #expect(try await client.send(.get(server)).response.status == .noContent)
            calls += 1
            if count() != last { (last, calls) = (count(), 0) }
        }
        return last
    }

    private func names(_ directory: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test func uploadsAFileAndTellsHowFarItIs() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer { LoopbackResponse(status: 201, text: "got \($0.body.count)") }
        let transfer = client.upload(
            .file(try file(directory), contentType: "image/png"),
            with: HTTPRequest(.put, to: try server.url("/photo"))
        )
        var seen: [TransferProgress] = []
        for await progress in transfer.progress { seen.append(progress) }
        let (response, body) = try await transfer.value
        #expect(response.status == .created && text(body) == "got 3000000")
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request.body == Self.content && request.headers["Authorization"] == token)
        #expect(request.headers["Content-Type"] == "image/png" && request.headers["Content-Length"] == "3000000")
        #expect(seen.last == TransferProgress(completedBytes: 3_000_000, totalBytes: 3_000_000))
        #expect(seen.last?.fraction == 1)
        #expect(seen.map(\.completedBytes) == seen.map(\.completedBytes).sorted())
    }

    @Test func repeatsAnUploadThatWasRefused() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer { request in
            request.headers["Authorization"] == token ? .unauthorized("Bearer") : LoopbackResponse(status: 200)
        }
        let form = RequestBody.multipart([.field("a", "b"), .file("f", path: try file(directory))])
        let (response, _) = try await client.upload(form, with: HTTPRequest(.post, to: try server.url())).value
        #expect(response.status == .ok && server.requests.count == 2)
        #expect(server.requests[0].body == server.requests[1].body && server.requests[0].body.count > 3_000_000)
    }

    @Test func givesTheAnswerThatComesBeforeTheBodyIsSent() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ScriptedServer(readsBodies: false) { _ in
            [.send(Array("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig".utf8)), .stall]
        }
        defer { server.close() }
        let path = try file(directory, [UInt8](repeating: 0, count: 40_000_000))
        let (response, body) = try await client.upload(.file(path), with: .post(server)).value
        #expect(response.status.code == 413 && text(body) == "big")
    }

    @Test func holdsNoMoreOfAnUploadThanTheServerTakes() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/sparse"
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(unsafe truncate(path, 1 << 30) == 0)
        let server = try ScriptedServer(readsBodies: false) { _ in [.stall] }
        defer { server.close() }
        let transfer = client.upload(.file(path), with: .post(server))
        let completed = Shared<Int64>(0)
        let listener = Task {
            for await progress in transfer.progress { completed.withLock { $0 = progress.completedBytes } }
        }
        #expect(await happens { server.requests.count == 1 && completed.value > 0 })
        // The transfer stops when the sockets' buffers and a few pieces are full.
        #expect(try await settled(client) { completed.value } < Self.whatMayBeHeld)
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await transfer.value }
        await listener.value
    }

    /// Holding the body in memory would exceed what other tests need at the same time.
    @Test func needsLittleMemoryForALargeUpload() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/sparse"
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(unsafe truncate(path, 256 << 20) == 0)
        let server = try ScriptedServer(readsBodies: false) { _ in
            [.discardBody, .send(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))]
        }
        defer { server.close() }
        let before = try residentBytes()
        var peak = before
        let transfer = client.upload(.multipart([.file("f", path: path)]), with: .post(server))
        for await _ in transfer.progress { peak = max(peak, try residentBytes()) }
        #expect(try await transfer.value.response.status == .noContent)
        #expect(peak - before < 128 << 20)
    }

    /// This process's memory that is not backed by files.
    private func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
        return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }) * 1024
    }

    @Test func downloadsIntoAFile() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/target"
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let server = try ResourceServer { _ in LoopbackResponse(status: 200, body: .bytes(Self.content)) }
        let transfer = client.download(HTTPRequest(.get, to: try server.url()), to: path)
        var last: TransferProgress?
        for await progress in transfer.progress { last = progress }
        let (response, body) = try await transfer.value
        #expect(response.status == .ok && body.isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(Self.content))
        #expect(try names(directory) == ["target"])
        #expect(last == TransferProgress(completedBytes: 3_000_000, totalBytes: 3_000_000))
    }

    @Test func leavesNoFileWhenTheAnswerIsCutOff() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer { _ in
            LoopbackResponse(
                status: 200,
                headers: ["Content-Length": "3000000"],
                body: .stream { try await $0.write(Array(Self.content.prefix(2_900_000))) }
            )
        }
        let path = directory.path + "/target"
        try await expectError(.connectionFailed) {
            try await client.download(HTTPRequest(.get, to: try server.url()), to: path).value
        }
        #expect(try names(directory).isEmpty)
    }

    @Test func givesBackARefusalInsteadOfWritingIt() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer { _ in LoopbackResponse(status: 404, text: "gone") }
        let transfer = client.download(HTTPRequest(.get, to: try server.url()), to: directory.path + "/target")
        let (response, body) = try await transfer.value
        #expect(response.status == .notFound && text(body) == "gone")
        #expect(try names(directory).isEmpty)
    }

    @Test func saysWhichFileCannotBeWritten() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer(answering: "x")
        for path in [directory.path + "/absent/target", directory.path] {
            let error = try await expectError(.fileUnavailable) {
                try await client.download(HTTPRequest(.get, to: try server.url()), to: path).value
            }
            #expect(error.message.contains(path))
        }
        #expect(try names(directory).isEmpty)
    }

    @Test func cancellingADownloadLeavesNothing() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let directory = try TemporaryDirectory()
        let server = try ScriptedServer { _ in
            [
                // It would take longer than a test may.
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8)),
                .sendForever([UInt8](repeating: 1, count: 1000), everyMilliseconds: 5),
            ]
        }
        defer { server.close() }
        let transfer = client.download(.get(server), to: directory.path + "/target")
        for await progress in transfer.progress where progress.completedBytes > 0 { break }
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await transfer.value }
        #expect(try names(directory).isEmpty)
        #expect(await happens { server.openConnections == 0 })
    }

    @Test func cancellingTheWaitingTaskCancelsTheTransfer() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        let directory = try TemporaryDirectory()
        let transfer = client.download(.get(server), to: directory.path + "/target")
        let waiting = Task { try await transfer.value }
        #expect(await happens { server.requests.count == 1 })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(await happens { server.openConnections == 0 })
    }

    @Test func droppingATransferCancelsIt() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        var transfer: ResourceTransfer? = client.upload(.bytes([1]), with: .post(server))
        #expect(await happens { server.requests.count == 1 })
        #expect(transfer != nil)
        transfer = nil
        #expect(await happens { server.openConnections == 0 })
    }

    @Test func streamsAnAnswerAsFastAsItIsRead() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ScriptedServer { _ in
            [
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".utf8)),
                .sendForever([UInt8](repeating: 1, count: 1 << 20), everyMilliseconds: 0),
            ]
        }
        defer { server.close() }
        let (response, body) = try await client.stream(.get(server))
        #expect(response.status == .ok)
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        // No reader continues, and the server stops sending.
        let start = try await settled(client) { Int64(server.bytesSent) }
        #expect(start < Self.whatMayBeHeld)
        var taken = 0
        while taken < 64 << 20, let piece = try await iterator.next() { taken += piece.count }
        #expect(Int64(server.bytesSent) > start)
    }
}
