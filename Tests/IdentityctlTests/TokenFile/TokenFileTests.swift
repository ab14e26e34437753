// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import Testing

@testable import identityctl

/// A file with a token, among the files of others.
@Suite struct TokenFileTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/token" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path) }

    private func text() -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func replacesTheWholeFileForItsOwnerAlone() throws {
        try Data("older and longer".utf8).write(to: URL(fileURLWithPath: path))
        let reader = try #require(FileHandle(forReadingAtPath: path))
        let file = TokenFile(path)
        try file.check()
        try file.write("first")
        try file.write("second")
        #expect(text() == "second" && file.isInPlace)
        #expect(try reader.readToEnd() == Data("older and longer".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try names() == ["token"])
        file.remove()
        #expect(try names().isEmpty)
    }

    /// An inode number is used again as soon as its file is gone, unless a descriptor holds it.
    @Test func removesNoFileOfAnotherProgram() throws {
        let file = TokenFile(path)
        try file.write("own")
        for _ in 0..<20 {
            try FileManager.default.removeItem(atPath: path)
            #expect(FileManager.default.createFile(atPath: path, contents: Data("another's".utf8)))
            #expect(!file.isInPlace)
            file.remove()
            #expect(text() == "another's")
        }
        TokenFile(path).remove()
        #expect(text() == "another's")
    }

    @Test(arguments: [
        ("mkdir token", "a directory"), ("ln -s elsewhere token", "a symbolic link"),
        ("mkfifo token", "no plain file"),
    ])
    func refusesANameThatIsNoFile(_ line: String, _ kind: String) throws {
        _ = try Shell.run("cd '\(directory.path)' && \(line)")
        let file = TokenFile(path)
        let message = "\(path) is \(kind). Name a file, which is replaced."
        #expect(throws: UsageError(message)) { try file.check() }
        #expect(throws: UsageError(message)) { try file.write("token") }
        #expect(try names() == ["token"])
    }

    /// Root may replace any file, and would take it from its owner.
    @Test(.enabled(if: geteuid() == 0, "gives a file to another user"))
    func leavesAnotherUsersFile() throws {
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: path))
        try CallFailed.check(unsafe chown(path, 65_534, 65_534), "chown")
        let file = TokenFile(path)
        #expect(throws: UsageError.self) { try file.check() }
        #expect(throws: UsageError.self) { try file.write("token") }
        #expect(text() == "theirs")
    }

    @Test(arguments: ["missing/token", "file/token", "missing/"]) func refusesAPlaceThatIsNotThere(name: String) throws
    {
        try Data().write(to: URL(fileURLWithPath: directory.path + "/file"))
        let file = TokenFile(directory.path + "/" + name)
        #expect(throws: SystemFailure.self) { try file.check() }
        #expect(throws: SystemFailure.self) { try file.write("token") }
        #expect(try names() == ["file"])
    }

    @Test func isKeptByOneAtATime() throws {
        var first: TokenFile? = TokenFile(path, isLocked: true)
        try first?.check()
        try first?.write("first")
        let second = TokenFile(path, isLocked: true)
        #expect(throws: SystemFailure.self) { try second.check() }
        try first?.write("once more")
        #expect(throws: SystemFailure.self) { try second.check() }
        try first?.check()
        // A single write is no keeping, and is not stopped.
        try TokenFile(path).check()
        first = nil
        try second.check()
        #expect(text() == "once more")
    }
}
