// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityClient

@Suite struct PassPhraseKeyTests {
    private static let passPhrase = "correct horse"
    let directory: TemporaryDirectory
    let secret = EncryptionKey.random()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var path: String { "\(directory.path)/key" }

    /// Writes a key file that costs little to open.
    private func write(_ change: (inout [UInt8]) -> Void = { _ in }) throws -> KeyFile {
        var bytes = try ProtectedKey(secret, passPhrase: Self.passPhrase, cost: 4).bytes
        change(&bytes)
        #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return try KeyFile(path: path)
    }

    private func code(_ file: KeyFile, typing text: String = passPhrase) async -> AuthenticationError.Code? {
        do {
            _ = try await PassPhraseKey(file) { text }.encryptionKey()
            return nil
        } catch {
            return (error as? AuthenticationError)?.code
        }
    }

    @Test(.timeLimit(.minutes(1))) func opensAMadeKeyOnlyWithItsPassPhrase() async throws {
        let file = try KeyFile(path: path)
        try await file.create(passPhrase: Self.passPhrase)
        #expect(try permissions(path) == 0o600)
        #expect(try await file.isProtected())
        let key = try await PassPhraseKey(file) { Self.passPhrase }.encryptionKey()
        #expect(try await PassPhraseKey(file) { Self.passPhrase }.encryptionKey() == key)
        let content = try #require(FileManager.default.contents(atPath: path))
        #expect(content.count == 82)
        #expect(content.firstRange(of: Data(key.bytes)) == nil)
        let unasked = await #expect(throws: AuthenticationError.self) { try await file.encryptionKey() }
        #expect(unasked?.code == .cacheKeyUnavailable)
        #expect(unasked?.message.contains("pass phrase") == true)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", "wrong", "correct horse "]) func refusesAnother(text: String)
        async throws
    {
        let error = await #expect(throws: AuthenticationError.self) {
            try await PassPhraseKey(try write()) { text }.encryptionKey()
        }
        #expect(error?.code == .cacheKeyUnavailable)
        #expect(error?.message.contains("Try again") == true)
    }

    @Test(.timeLimit(.minutes(1))) func asksOnceForAllCallersAndAgainForAnotherFile() async throws {
        let questions = Mutex(0)
        let key = PassPhraseKey(try write()) {
            questions.withLock { $0 += 1 }
            return Self.passPhrase
        }
        try await withThrowingTaskGroup(of: EncryptionKey.self) { group in
            for _ in 0..<8 { group.addTask { try await key.encryptionKey() } }
            for try await found in group { #expect(found == secret) }
        }
        #expect(try await key.encryptionKey() == secret)
        #expect(questions.withLock { $0 } == 1)
        _ = try write()
        #expect(try await key.encryptionKey() == secret)
        #expect(questions.withLock { $0 } == 2)
        #expect(FileManager.default.createFile(atPath: path, contents: Data(secret.bytes)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try await key.encryptionKey() == secret)
        #expect(questions.withLock { $0 } == 2)
    }

    @Test(.timeLimit(.minutes(1))) func asksAgainAfterAMistake() async throws {
        let answers = Mutex(["wrong", Self.passPhrase])
        let key = PassPhraseKey(try write()) { answers.withLock { $0.removeFirst() } }
        await #expect(throws: AuthenticationError.self) { try await key.encryptionKey() }
        #expect(try await key.encryptionKey() == secret)
    }

    /// scrypt itself would take all memory, or stop the program.
    @Test(arguments: [0, 20, 31, 63, 64, 255] as [UInt8]) func believesNoCostBeyondItsBounds(cost: UInt8)
        async throws
    {
        let questions = Mutex(0)
        let key = PassPhraseKey(try write { $0[5] = cost }) {
            questions.withLock { $0 += 1 }
            return Self.passPhrase
        }
        let error = await #expect(throws: AuthenticationError.self) { try await key.encryptionKey() }
        #expect(error?.code == .cacheKeyUnavailable)
        #expect(questions.withLock { $0 } == 0)
    }

    @Test(.timeLimit(.minutes(1))) func refusesAChangedFile() async throws {
        #expect(await code(try write { $0[4] = 2 }) == .cacheNewerVersion)
        #expect(await code(try write { $0.removeLast() }) == .cacheKeyUnavailable)
        #expect(await code(try write { $0.append(0) }) == .cacheKeyUnavailable)
        #expect(await code(try write { $0.removeLast(77) }) == .cacheKeyUnavailable)
        for index in [5, 6, 21, 22, 33, 34, 65, 66, 81] {
            #expect(await code(try write { $0[index] ^= 1 }) == .cacheKeyUnavailable, "\(index)")
        }
        #expect(await code(try write()) == nil)
    }

    @Test func makesNoKeyWithAnEmptyPassPhrase() async throws {
        let error = await #expect(throws: AuthenticationError.self) {
            try await KeyFile(path: path).create(passPhrase: "")
        }
        #expect(error?.code == .invalidArgument)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
