// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import Glibc
import IdentityClient
import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityKeyring

/// A cache that listens to changes waits until a keyring runs again. Only a read or a write starts an installed
/// keyring.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringListeningTests {
    /// Installs a keyring that the bus can start and that ends at once.
    /// - Returns: The path of the file that this keyring creates when it starts.
    private func install(in session: KeyringSession) throws -> String {
        let started = "\(session.directory)/started"
        try session.run(
            """
            mkdir -p '\(session.directory)/services'
            printf '%s\\n' '[D-BUS Service]' Name=org.freedesktop.secrets 'Exec=/bin/sh -c "touch \(started); exit 1"' \
                > '\(session.directory)/services/org.freedesktop.secrets.service'
            gdbus call --session -d org.freedesktop.DBus -o /org/freedesktop/DBus -m org.freedesktop.DBus.ReloadConfig
            """
        )
        return started
    }

    @Test(.timeLimit(.minutes(1))) func startsNoKeyringInPlaceOfTheOneThatWent() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, other, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await other.replace(nil, with: CacheRecord("one"), for: key))
        let started = try install(in: session)
        let hints = try #require(cache.changes(in: key.group))
        #expect(try await eventually { cache.connector.isListening })
        try session.stopKeyring()
        #expect(try await eventually { !cache.connector.isListening })
        try session.restartKeyring()
        #expect(try await eventually { cache.connector.isListening })
        let second = try randomKey()
        #expect(try await session.cache().replace(nil, with: CacheRecord("two"), for: second))
        #expect(await hints.first { $0 == second } == second)
        #expect(!FileManager.default.fileExists(atPath: started))
        // A read starts the installed keyring, as with every client of a keyring.
        try session.stopKeyring()
        #expect(await failure { try await cache.record(for: key) }.code == .keyringNoService)
        #expect(FileManager.default.fileExists(atPath: started))
    }

    /// The keyring ends between a write's question and its change, for example because KeePassXC restarts.
    @Test(.timeLimit(.minutes(1))) func startsNoKeyringForAWriteThatItWentUnder() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        let started = try install(in: session)
        try session.tell("kills", "itself")
        try await cache.connector.link().providerName.withLock { $0 = "keepassxc" }
        let code = await failure { try await cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key) }
            .code
        #expect(code == .keyringNoService)
        #expect(!FileManager.default.fileExists(atPath: started))
    }

    /// The number of connections to the bus since its start.
    private func connections(_ session: KeyringSession) throws -> Int {
        let names = try session.run(
            "gdbus call --session -d org.freedesktop.DBus -o /org/freedesktop/DBus -m org.freedesktop.DBus.ListNames"
        )
        return names.split { !"0123456789.:".contains($0) }.filter { $0.hasPrefix(":1.") }
            .compactMap { Int($0.dropFirst(3)) }.max() ?? 0
    }

    /// A program that starts with the session starts before the keyring.
    @Test(.timeLimit(.minutes(1))) func findsAKeyringThatComesLaterOverOneConnection() async throws {
        let session = try KeyringSession(.noService)
        let (cache, key) = (try session.cache(), try randomKey())
        let before = try connections(session)
        let hints = try #require(cache.changes(in: key.group))
        // Each count makes a connection itself. All counts together take longer than five pauses.
        for count in 1...150 {
            let ours = try connections(session) - before - count
            #expect(ours <= 2, "after \(count)")
            guard ours <= 2 else { break }
        }
        try session.restartKeyring()
        #expect(try await eventually { cache.connector.isListening })
        #expect(try await session.cache().replace(nil, with: CacheRecord("x"), for: key))
        #expect(await hints.first { $0 == key } == key)
    }

    @Test(.timeLimit(.minutes(1))) func startsAKeyringForAReaderThatJoinsAListener() async throws {
        let session = try KeyringSession(.noService)
        let started = try install(in: session)
        let cache = try session.cache()
        func link(_ startsKeyring: Bool) async {
            await #expect(throws: GLibFailure.self) { try await cache.connector.link(startsKeyring: startsKeyring) }
        }
        await link(false)
        #expect(!FileManager.default.fileExists(atPath: started))
        let listening = Task.immediate { await link(false) }
        await link(true)
        #expect(FileManager.default.fileExists(atPath: started))
        await listening.value
    }
}
