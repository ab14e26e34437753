// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import Synchronization
import Testing

@testable import identityctl

/// Files that are written as a whole, among the files of others.
@Suite struct PlainFileTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/sub/one/file" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func write(_ text: String, in place: PlainFile.Place = .file) throws {
        try PlainFile.write(Array(text.utf8), to: path, in: place)
    }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path + "/sub/one").sorted() }
    }

    @Test func makesTheDirectoriesForThisUserAlone() throws {
        try write("text", in: .free)
        #expect(try text(path) == "text" && names == ["file"])
        #expect(try mode(path) == 0o600 && mode(directory.path + "/sub") == 0o700)
    }

    @Test func takesNoPlaceThatIsTaken() throws {
        try write("first", in: .free)
        #expect(throws: UsageError("\(path) exists already.")) { try write("second", in: .free) }
        #expect(try text(path) == "first" && names == ["file"])
    }

    /// One of two writers finds that the other one has just made the directory.
    @Test func writersThatMakeOneDirectoryAtOnceAllWrite() {
        let path = directory.path
        let written = Atomic(0)
        for round in 0..<200 {
            DispatchQueue.concurrentPerform(iterations: 8) { writer in
                let isWritten = (try? PlainFile.write([1], to: "\(path)/\(round)/one/two/\(writer)")) != nil
                if isWritten { written.add(1, ordering: .relaxed) }
            }
        }
        #expect(written.load(ordering: .relaxed) == 1600)
    }

    @Test func replacesAFileOrALinkAsItIsTold() throws {
        try write("first")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "sub/one/file")
        try PlainFile.write(Array("second".utf8), to: link, mode: 0o640)
        #expect(text(path) == "second")
        #expect(try mode(path) == 0o640)
        try PlainFile.write(Array("third".utf8), to: link, in: .name)
        #expect(text(path) == "second" && text(link) == "third")
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
        #expect(throws: UsageError.self) { try PlainFile.write([], to: link) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "nowhere")
    }

    /// As the kernel follows no such link. Only root can make one here.
    @Test(.enabled(if: geteuid() == 0)) func followsNoLinkOfAnotherUserInADirectoryForAll() throws {
        try write("first")
        let shared = directory.path + "/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        let (link, own) = (shared + "/sign-in.json", shared + "/own.json")
        for name in [link, own] { try FileManager.default.createSymbolicLink(atPath: name, withDestinationPath: path) }
        #expect(unsafe lchown(link, 65_534, 65_534) == 0 && chmod(shared, 0o1777) == 0)
        #expect(throws: UsageError.self) { try PlainFile.write([], to: link) }
        #expect(throws: UsageError.self) { try PlainFile.target(of: link) }
        // A link of one's own that leads there is followed no farther.
        let way = directory.path + "/way"
        try FileManager.default.createSymbolicLink(atPath: way, withDestinationPath: "shared/sign-in.json")
        #expect(throws: UsageError.self) { try PlainFile.write([], to: way) }
        #expect(text(path) == "first")
        try PlainFile.write(Array("second".utf8), to: own)
        #expect(text(path) == "second")
        #expect(unsafe chmod(shared, 0o755) == 0)
        #expect(try PlainFile.target(of: link) == path)
    }

    @Test func endsAtLinksThatLeadToThemselves() throws {
        let link = directory.path + "/loop"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "loop")
        #expect(throws: UsageError.self) { try PlainFile.target(of: link) }
    }

    @Test func leavesTheOlderFileAndNoOtherAfterAnError() throws {
        try write("first")
        #expect(throws: CancellationError.self) {
            try PlainFile.write([1], to: path) { _ in
                #expect(try names.count == 2)
                throw CancellationError()
            }
        }
        #expect(try text(path) == "first" && names == ["file"])
    }

    /// Only files with the names of killed writers go, and only old ones: another writer may be at work.
    @Test func removesWhatKilledWritersLeft() throws {
        try write("first")
        let old = [".identityctl-0123456789abcdef", ".identityctl-0123456789abcdeg", ".identityctl-0", "identityctl-x"]
        let new = ".identityctl-fedcba9876543210"
        for name in old + [new] {
            let path = directory.path + "/sub/one/" + name
            let date = Date(timeIntervalSinceNow: name == new ? 0 : -4000)
            #expect(FileManager.default.createFile(atPath: path, contents: Data()))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        try write("second")
        #expect(try names == (old.dropFirst() + [new, "file"]).sorted())
    }
}
