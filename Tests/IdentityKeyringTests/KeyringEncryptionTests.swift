// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityKeyring
import IdentityTestSupport
import Testing

/// The data that a recording of the whole bus contains, as made for a bug report.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringEncryptionTests {
    @Test(.timeLimit(.minutes(1)), arguments: [KeyringSession.Mode.unlocked, .keepassxc])
    func sendsNoSecretInClear(_ mode: KeyringSession.Mode) async throws {
        let session = try KeyringSession(mode)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        let monitor = try await Monitor.recording(session)
        let (cache, key) = (try session.cache(), try randomKey())
        let secrets = ["first", "second"].map { "\($0)-\(UUID().uuidString)" }
        #expect(try await cache.replace(nil, with: CacheRecord(secrets[0]), for: key))
        #expect(try await cache.replace(CacheRecord(secrets[0]), with: CacheRecord(secrets[1]), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord(secrets[1]))
        #expect(try await session.cache().records(of: .account, in: key.group).count == 1)
        let capture = try await monitor.capture(until: "the-end")
        for method in ["CreateItem", "SetSecret", "GetSecrets", key.name] { #expect(capture.contains(method)) }
        for secret in secrets { #expect(!capture.contains(secret)) }
    }

    /// Agreeing on a key costs the keyring and the program most of the time of a first read.
    @Test(.timeLimit(.minutes(1)))
    func agreesOnNoKeyWithALockedKeyring() async throws {
        let session = try KeyringSession(.locked)
        let monitor = try await Monitor.recording(session)
        let outcome = await failure { try await session.cache().record(for: randomKey()) }
        #expect(outcome.code == .keyringLocked)
        let capture = try await monitor.capture(until: "the-end")
        #expect(capture.contains("ReadAlias"))
        #expect(!capture.contains("OpenSession"))
    }
}

/// A program that records all messages of a bus.
private final class Monitor {
    private let session: KeyringSession
    private let process: String
    private let file: String

    /// Starts it, and waits until it records.
    static func recording(_ session: KeyringSession) async throws -> Monitor {
        let monitor = try Monitor(session)
        _ = try await monitor.capture(until: "the-beginning")
        return monitor
    }

    private init(_ session: KeyringSession) throws {
        self.session = session
        file = "\(session.directory)/capture"
        let command = "dbus-monitor --address '\(try session.value("BUS"))' --pcap >'\(file)' 2>/dev/null & echo $!"
        process = try session.run(command).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        _ = try? session.run("kill \(process)")
    }

    /// Sends a message with that name, and returns everything that was recorded before it.
    func capture(until name: String) async throws -> String {
        let signal = "gdbus emit --session --object-path /org/example --signal org.example.Monitor.Said \"'\(name)'\""
        let isComplete = try await eventually {
            try session.run(signal)
            return try text().contains(name)
        }
        #expect(isComplete)
        return try text()
    }

    private func text() throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    }
}
