// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTestSupport
import Testing

@testable import IdentityResources

/// Bodies from bytes and files.
@Suite struct RequestBodyTests {
    private func read(_ body: RequestBody) async throws -> (bytes: [UInt8], pieces: Int, length: Int64) {
        let reader = try await BodyReader.open(body, nil)
        var bytes: [UInt8] = []
        var pieces = 0
        while let piece = try await reader.next() {
            #expect(!piece.isEmpty && piece.count <= BodyReader.pieceLength)
            bytes += piece
            pieces += 1
        }
        return (bytes, pieces, reader.length)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test func readsAFilePieceByPiece() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        let content = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try write(content, to: path)
        let (bytes, pieces, length) = try await read(.file(path))
        #expect(bytes == content && pieces == 3 && length == 700_000)
    }

    @Test func encodesNamesAndValuesOfAForm() async throws {
        let body = RequestBody.form(["Text": "Milk & 1+1 ü", "Text": "", "a=b": "c"])
        #expect(body.contentType == "application/x-www-form-urlencoded")
        #expect(try await text(read(body).bytes) == "Text=Milk%20%26%201%2B1%20%C3%BC&Text=&a%3Db=c")
    }

    @Test func buildsAFormOfParts() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/no\"te.txt"
        try write(Array("content\r\n".utf8), to: path)
        let body = RequestBody.multipart(
            [
                .field("name", "Zoë"), .file("file", path: path, contentType: "text/plain\r\nX: y"),
                .bytes("a\"\r\nb", [1, 2], filename: "ü.bin"),
            ],
            boundary: "limit"
        )
        let expected = """
            --limit\r
            Content-Disposition: form-data; name="name"\r
            \r
            Zoë\r
            --limit\r
            Content-Disposition: form-data; name="file"; filename="no%22te.txt"\r
            Content-Type: text/plain  X: y\r
            \r
            content\r
            \r
            --limit\r
            Content-Disposition: form-data; name="a%22%0D%0Ab"; filename="ü.bin"\r
            Content-Type: application/octet-stream\r
            \r
            \u{1}\u{2}\r
            --limit--\r

            """
        let (bytes, _, length) = try await read(body)
        #expect(String(decoding: bytes, as: UTF8.self) == expected && length == Int64(bytes.count))
        #expect(body.contentType == "multipart/form-data; boundary=limit")
    }

    @Test func drawsABoundaryAnew() {
        let first = RequestBody.multipart([.field("a", "b")])
        #expect(first.contentType != RequestBody.multipart([.field("a", "b")]).contentType)
    }

    @Test(arguments: [RequestBody.bytes([]), .multipart([])])
    func readsAnEmptyBody(body: RequestBody) async throws {
        let (bytes, _, length) = try await read(body)
        #expect(Int64(bytes.count) == length && bytes.count < 64)
    }

    @Test func refusesWhatIsNoRegularFile() async throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path + "/pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [directory.path, pipe, directory.path + "/absent", "/dev/null"] {
            let error = try await expectError(.fileUnavailable) { try await read(.file(path)) }
            #expect(error.message.contains(path))
        }
    }

    @Test(arguments: [10, 400_000])
    func refusesAFileThatChangesMeanwhile(newLength: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try write([UInt8](repeating: 1, count: 300_000), to: path)
        let reader = try await BodyReader.open(.multipart([.file("f", path: path)]), nil)
        #expect(try await reader.next() != nil)
        try write([UInt8](repeating: 2, count: newLength), to: path)
        try await expectError(.fileUnavailable) { while try await reader.next() != nil {} }
    }

    @Test func refusesAFileThatIsCutOff() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        try write([UInt8](repeating: 1, count: 600_000), to: path)
        let reader = try await BodyReader.open(.file(path), nil)
        #expect(try await reader.next() != nil)
        #expect(unsafe truncate(path, 300_000) == 0)
        try await expectError(.fileUnavailable) { while try await reader.next() != nil {} }
    }
}
