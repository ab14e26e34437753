// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityClient

/// The calls of `fsync` in this process: this function stands before that of the C library.
@c(fsync)
func recordedFsync(_ descriptor: Int32) -> Int32 {
    SynchronizationLog.note(descriptor)
    typealias Function = @convention(c) (Int32) -> Int32
    guard let next = unsafe dlsym(UnsafeMutableRawPointer(bitPattern: -1), "fsync") else { return -1 }  // RTLD_NEXT
    return unsafe unsafeBitCast(next, to: Function.self)(descriptor)
}

/// A log of what was synchronized in a directory, in its order, and of what a file of it held then.
final class SynchronizationLog: Sendable {
    struct Entry: Equatable {
        let isDirectory: Bool
        let content: String?
    }

    private static let all = Mutex<[SynchronizationLog]>([])
    private let directory: String
    private let file: String
    private let entries = Mutex<[Entry]>([])

    init(of file: String) {
        directory = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
        self.file = file
        Self.all.withLock { $0.append(self) }
    }

    /// The entries since the last call.
    func taken() -> [Entry] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }

    func end() {
        Self.all.withLock { $0.removeAll { $0 === self } }
    }

    fileprivate static func note(_ descriptor: Int32) {
        let link = "/proc/self/fd/\(descriptor)"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return }
        for log in all.withLock(\.self) where path == log.directory || path.hasPrefix(log.directory + "/") {
            let content = FileManager.default.contents(atPath: log.file).map { String(decoding: $0, as: UTF8.self) }
            log.entries.withLock { $0.append(Entry(isDirectory: path == log.directory, content: content)) }
        }
    }
}

/// A stored record outlasts a power loss, and so does its removal.
@Suite struct FileSynchronizationTests {
    @Test func synchronizesTheFileBeforeItCountsAndItsDirectoryAfterwards() async throws {
        let directory = try TemporaryDirectory()
        let cache = FileTokenCache(directory: "\(directory.path)/cache")
        let name = String(repeating: "a1", count: 32)
        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
        let (one, two) = (CacheRecord(bytes: Array("one".utf8)), CacheRecord(bytes: Array("two".utf8)))
        #expect(try await cache.replace(nil, with: one, for: key))
        let log = SynchronizationLog(of: "\(directory.path)/cache/suite/account-\(name).json")
        defer { log.end() }

        #expect(try await cache.replace(one, with: two, for: key))
        #expect(log.taken() == [.init(isDirectory: false, content: "one"), .init(isDirectory: true, content: "two")])
        #expect(try await cache.replace(two, with: nil, for: key))
        #expect(log.taken() == [.init(isDirectory: true, content: nil)])
    }
}
