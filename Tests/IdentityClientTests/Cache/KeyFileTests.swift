// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

@Suite struct KeyFileTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var path: String { "\(directory.path)/key" }

    /// Makes a file in place of the key.
    private func write(_ count: Int, mode: mode_t = 0o600) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: Data(repeating: 7, count: count)))
        try CallFailed.check(unsafe chmod(path, mode), "chmod")
    }

    private func code(credentials: String? = nil, _ file: KeyFile) -> AuthenticationError.Code? {
        do {
            _ = try file.content(credentials: credentials)
            return nil
        } catch {
            return (error as? AuthenticationError)?.code
        }
    }

    @Test func makesAKeyThatOnlyItsOwnerReads() async throws {
        let file = try KeyFile(path: "\(directory.path)/a/b/key")
        try await file.create()
        #expect(try directory.names(in: "a/b") == ["key"])
        #expect(try permissions("\(directory.path)/a/b/key") == 0o600)
        #expect(try permissions("\(directory.path)/a/b") == 0o700)
        let key = try await file.encryptionKey()
        #expect(try await file.encryptionKey() == key)
        let other = try KeyFile(path: path)
        try await other.create()
        #expect(try await other.encryptionKey() != key)
    }

    @Test(arguments: [true, false]) func replacesNothing(isLink: Bool) async throws {
        if isLink {
            try CallFailed.check(unsafe symlink("nowhere", path), "symlink")
        } else {
            try write(5)
        }
        let error = await #expect(throws: AuthenticationError.self) { try await KeyFile(path: path).create() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(path) == true)
        #expect(try directory.names(in: "") == ["key"])
        #expect(FileManager.default.contents(atPath: path)?.count == (isLink ? nil : 5))
    }

    @Test(
        arguments: [
            (32, 0o600, nil), (32, 0o400, nil), (32, 0o640, .cachePermissions), (32, 0o604, .cachePermissions),
            (32, 0o620, .cachePermissions), (32, 0o700, .cachePermissions), (0, 0o600, .cacheKeyUnavailable),
            (31, 0o600, .cacheKeyUnavailable), (33, 0o600, .cacheKeyUnavailable), (64, 0o600, .cacheKeyUnavailable),
        ] as [(Int, mode_t, AuthenticationError.Code?)]
    )
    func readsOnlyAKeyOfItsOwn(count: Int, mode: mode_t, expected: AuthenticationError.Code?) throws {
        try write(count, mode: mode)
        #expect(code(try KeyFile(path: path)) == expected)
    }

    /// Random bytes may begin like a key that a pass phrase protects.
    @Test func readsAKeyWhateverItsBytesAre() async throws {
        let bytes: [UInt8] = [0x8A, 0x53, 0x49, 0x4B] + Array(repeating: 1, count: 28)
        #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
        try CallFailed.check(unsafe chmod(path, 0o600), "chmod")
        let file = try KeyFile(path: path)
        #expect(try await file.encryptionKey().bytes == bytes)
        #expect(try await !file.isProtected())
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["nothing", "link", "second name", "directory", "FIFO"])
    func refusesWhatIsNoPlainFile(kind: String) throws {
        let target = "\(directory.path)/target"
        #expect(FileManager.default.createFile(atPath: target, contents: Data(repeating: 7, count: 32)))
        try CallFailed.check(unsafe chmod(target, 0o600), "chmod")
        var expected = AuthenticationError.Code.cachePermissions
        switch kind {
        case "link":
            try CallFailed.check(unsafe symlink(target, path), "symlink")
            expected = .cacheKeyUnavailable
        case "second name": try CallFailed.check(unsafe link(target, path), "link")
        case "directory": try CallFailed.check(unsafe mkdir(path, 0o700), "mkdir")
        case "FIFO": try CallFailed.check(unsafe mkfifo(path, 0o600), "mkfifo")
        default: expected = .cacheKeyUnavailable
        }
        #expect(code(try KeyFile(path: path)) == expected)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func refusesTheKeyOfAnotherUser() throws {
        try write(32)
        try CallFailed.check(unsafe chown(path, 1, 1), "chown")
        #expect(code(try KeyFile(path: path)) == .cachePermissions)
        #expect(code(credentials: directory.path, try KeyFile(credential: "key")) == .cachePermissions)
    }

    @Test(
        arguments: [
            (0o400, nil), (0o440, nil), (0o600, nil), (0o444, .cachePermissions), (0o460, .cachePermissions),
        ] as [(mode_t, AuthenticationError.Code?)]
    )
    func readsACredentialAsSystemdMakesIt(mode: mode_t, expected: AuthenticationError.Code?) throws {
        try write(32, mode: mode)
        let file = try KeyFile(credential: "key")
        #expect(code(credentials: directory.path, file) == expected)
    }

    /// As the directory of a file cache. A recorded place is absolute.
    @Test(arguments: ["key", "./key"]) func beginsARelativePathAtTheWorkingDirectory(_ path: String) throws {
        let directory = try #require(SystemCall.workingDirectory)
        #expect(try KeyFile(path: path).description == "key-file=\(FilePath.normalized(directory + "/key"))")
        #expect(throws: AuthenticationError.self) { try KeyFile("key-file=\(path)") }
    }

    /// Eight first runs at the same time: one makes the key, and all use it.
    @Test(.timeLimit(.minutes(1))) func isMadeOnceByManyProcesses() async throws {
        let path = directory.path + "/a/b/key"
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let file = try KeyFile(path: path)
                        try await file.createIfMissing()
                        let key = try await file.encryptionKey()
                        try #require(try await file.encryptionKey() == key)
                    }
                }
            }
        }
        let file = try KeyFile(path: path)
        let key = try await file.encryptionKey()
        #expect(try await file.createIfMissing() == false)
        #expect(try await file.encryptionKey() == key)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/a/b") == ["key"])
    }

    /// A maker that was killed after it gave the key its name, and before it took the temporary one away.
    @Test(arguments: [(".new-0-1f", true), (".new-1-1f", false), ("copy", false)])
    func removesTheNameThatAKilledMakerLeft(second: String, isOurs: Bool) async throws {
        let file = try KeyFile(path: path)
        try await file.create()
        let key = try await file.encryptionKey()
        try CallFailed.check(unsafe link(path, "\(directory.path)/\(second)"), "link")
        // Another program's file has such a name, too.
        let other = "\(directory.path)/.new-0-2"
        #expect(FileManager.default.createFile(atPath: other, contents: Data("other".utf8)))
        if isOurs {
            #expect(try await file.encryptionKey() == key)
        } else {
            #expect(code(file) == .cachePermissions)
        }
        #expect(FileManager.default.fileExists(atPath: "\(directory.path)/\(second)") == !isOurs)
        #expect(FileManager.default.contents(atPath: other) == Data("other".utf8))
    }

    @Test func saysWhatToDoForAFirstUse() async throws {
        let file = try KeyFile(path: path)
        let error = await #expect(throws: AuthenticationError.self) { try await file.encryptionKey() }
        #expect(error?.code == .cacheKeyUnavailable)
        #expect(error?.message.contains("For a first use, make it, as 'identityctl cache create-key' does.") == true)
        #expect(try await file.isMissing())
        #expect(try await file.createIfMissing())
        #expect(try await !file.isMissing())
        _ = try await file.encryptionKey()
        // A credential is not made here.
        await #expect(throws: AuthenticationError.self) { try await KeyFile(credential: "x").createIfMissing() }
    }

    @Test func saysWhereACredentialComesFrom() throws {
        let file = try KeyFile(credential: "token-key")
        for directory in [nil, "relative"] {
            let error = #expect(throws: AuthenticationError.self) { try file.content(credentials: directory) }
            #expect(error?.code == .cacheKeyUnavailable)
            #expect(error?.message.contains("LoadCredentialEncrypted=") == true)
        }
        let missing = #expect(throws: AuthenticationError.self) { try file.content(credentials: directory.path) }
        #expect(missing?.code == .cacheKeyUnavailable)
        #expect(missing?.message.contains("\(directory.path)/token-key does not exist") == true)
    }

    @Test(arguments: ["", ".", "a/", "/", "/a/", "/a/..", "/a/.", "/a\0b", "/a\nb"])
    func takesOnlyAPathThatEndsWithAName(path: String) {
        let error = #expect(throws: AuthenticationError.self) { try KeyFile(path: path) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: ["", ".", "..", "a/b", "../a", "a:b", "a b", "a\0", "ä", String(repeating: "a", count: 256)])
    func takesOnlyTheNameOfACredential(name: String) async {
        let error = #expect(throws: AuthenticationError.self) { try KeyFile(credential: name) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func isRecordedByItsPlace() async throws {
        let (path, credential) = (try KeyFile(path: "/a//./b=c"), try KeyFile(credential: "n"))
        #expect(path.description == "key-file=/a/b=c")
        #expect(credential.description == "credential=n")
        #expect(try KeyFile(path.description) == path)
        #expect(try KeyFile(credential.description) == credential)
        #expect(throws: AuthenticationError.self) { try KeyFile("tpm=1") }
        await #expect(throws: AuthenticationError.self) { try await credential.create() }
    }
}
