// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// Downloads to a path that already exists.
@Suite(.timeLimit(.minutes(1)))
struct DownloadTargetTests {
    private static let content = [UInt8](repeating: 7, count: 1_000_000)

    private func names(_ directory: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode : nil
    }

    @discardableResult
    private func download(
        to path: String,
        answering answer: @escaping @Sendable () throws -> LoopbackResponse = {
            LoopbackResponse(status: 200, body: .bytes(Self.content))
        }
    ) async throws -> HTTPResponse {
        let (client, _) = try await TestSetup().resourceClient()
        let server = try ResourceServer { _ in (try? answer()) ?? LoopbackResponse(status: 500) }
        return try await client.download(HTTPRequest(.get, to: try server.url()), to: path).value.response
    }

    @Test func keepsTheModeOfTheFileThatItReplaces() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/target"
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        for mode in [0o600, 0o664] as [mode_t] {
            #expect(unsafe chmod(path, mode) == 0)
            try await download(to: path)
            #expect(self.mode(path) == S_IFREG | mode)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(Self.content))
    }

    @Test func followsALink() async throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/inside", withIntermediateDirectories: false)
        let (path, link) = (directory.path + "/inside/target", directory.path + "/link")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        #expect(unsafe symlink("inside/target", link) == 0)
        try await download(to: link)
        #expect(mode(link).map { $0 & S_IFMT } == S_IFLNK)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(Self.content))
        #expect(try names(directory) == ["inside", "link"])
    }

    @Test func writesIntoAFIFOForWhoeverReadsIt() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/fifo"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        let received = Shared<Data?>(nil)
        let reader = Thread {
            let all = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd()
            received.withLock { $0 = all ?? Data() }
        }
        reader.start()
        try await download(to: path)
        #expect(await happens { received.value != nil })
        #expect(received.value == Data(Self.content))
        #expect(mode(path) == S_IFIFO | 0o600)
        #expect(try names(directory) == ["fifo"])
    }

    @Test func givesUpOnAFIFOThatNobodyReads() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/fifo"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        let (client, _) = try await TestSetup().resourceClient()
        let server = try ResourceServer(answering: "x")
        let transfer = client.download(HTTPRequest(.get, to: try server.url()), to: path)
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await transfer.value }
        #expect(server.requests.isEmpty && mode(path) == S_IFIFO | 0o600)
    }

    /// A directory that takes the path meanwhile cannot be replaced.
    @Test func leavesNothingWhenItCannotBePutInPlace() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/target"
        for _ in 0..<20 {
            try await expectError(.fileUnavailable) {
                try await download(to: path) {
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                    return LoopbackResponse(status: 200, text: "x")
                }
            }
            #expect(try names(directory) == ["target"])
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func sendsNothingWhenItCannotBeWritten() async throws {
        let (client, _) = try await TestSetup().resourceClient()
        let directory = try TemporaryDirectory()
        #expect(unsafe symlink("nowhere", directory.path + "/link") == 0)
        let server = try ResourceServer(answering: "x")
        for path in ["", directory.path, directory.path + "/absent/target", directory.path + "/link"] {
            try await expectError(.fileUnavailable) {
                try await client.download(HTTPRequest(.post, to: try server.url()), body: .json([]), to: path).value
            }
        }
        #expect(server.requests.isEmpty)
        #expect(try names(directory) == ["link"])
    }
}
