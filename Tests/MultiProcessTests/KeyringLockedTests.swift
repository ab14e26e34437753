// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// The keyring is locked between the answer and the write.
@Suite(
    .serialized,
    .timeLimit(.minutes(3)),
    .enabled(if: KeyringSession.script != nil && Store.chosen.contains(.keyring), "run Scripts/soak")
)
struct KeyringLockedTests {
    @Test func keepsTheTokenInMemoryUntilTheKeyringIsUnlocked() async throws {
        let session = try await KeyringSession()
        let setup = try await SharedCacheSetup(Storage(.keyring, bus: session.bus))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let worker = try await setup.worker { $0.rounds = 3 }
        worker.go()
        try await setup.provider.waitForRequest(.token)
        try await session.lock()
        gate.open()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil && first.unsaved == "cache.keyring_locked", "\(first)")
        worker.go()
        #expect(try #require(try await worker.report(1)).token == first.token)
        try await session.unlock()
        worker.go()
        #expect(try #require(try await worker.report(2)).token == first.token)
        let next = try #require(try await setup.acquire())
        #expect(next.token == first.token && next.source == "cache", "It was written when it could be: \(next)")
        #expect(try #require(try await setup.refresh()).error == nil)
    }
}

/// A keyring on its own bus, started by a script.
final class KeyringSession: Sendable {
    static let script = ProcessInfo.processInfo.environment["IDENTITY_SOAK_KEYRING"]

    struct Failed: Error { let words: [String] }

    let bus: String
    private let directory = "/tmp/identity-keyring-\(UUID().uuidString)"

    /// - Parameter mode: The kind of keyring, one of those in `Tests/Support/keyring/session`.
    init(_ mode: String = "unlocked") async throws {
        bus = "unix:path=\(directory)/run/bus"
        try await Self.run([Self.script ?? "", "start", directory, mode])
    }

    /// The keyring's process.
    var process: pid_t {
        get throws {
            let lines = try String(contentsOfFile: "\(directory)/env", encoding: .utf8).split(separator: "\n")
            return try #require(lines.last { $0.hasPrefix("KEYRING_PID=") }.flatMap { pid_t($0.dropFirst(12)) })
        }
    }

    deinit {
        let words = [Self.script ?? "", "stop", directory]
        let directory = directory
        Thread.detachNewThread {
            try? Self.wait(for: words)
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    /// Tells a keyring of the mode `fake` how to behave. It has answered what came before.
    func tell(_ name: String, _ value: String) async throws {
        try await Self.run([
            "/usr/bin/gdbus", "call", "--address", bus, "-d", "org.freedesktop.secrets",
            "-o", "/org/freedesktop/secrets", "-m", "org.example.Control.Set", name, value,
        ])
    }

    func lock() async throws {
        try await Self.run([
            "/usr/bin/gdbus", "call", "--address", bus, "-d", "org.freedesktop.secrets",
            "-o", "/org/freedesktop/secrets", "-m", "org.freedesktop.Secret.Service.Lock",
            "[\"/org/freedesktop/secrets/collection/login\"]",
        ])
    }

    /// Unlocks the keyring by starting it again, because no person is there to type the password.
    func unlock() async throws {
        try await end()
        try await begin()
    }

    /// Kills the keyring.
    func end() async throws {
        try await Self.run([Self.script ?? "", "stop-keyring", directory])
    }

    /// Starts the keyring, unlocked.
    func begin() async throws {
        try await Self.run([Self.script ?? "", "keyring", directory])
    }

    /// Runs a command without blocking the threads that all tests share.
    private static func run(_ words: [String]) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try wait(for: words) }) }
        }
    }

    /// Runs the command in a shell. With `Process`, a program that the script leaves running would delay the end of the
    /// wait.
    private static func wait(for words: [String]) throws {
        let command = words.map { "'\($0)'" }.joined(separator: " ")
        guard let pipe = unsafe popen("timeout 40 \(command) >/dev/null </dev/null", "re"), unsafe pclose(pipe) == 0
        else {
            throw Failed(words: words)
        }
    }
}
