// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTestSupport
import Logging
import Synchronization
import SystemSupport
import Testing

@testable import IdentityKeyring

/// Waits that end, and the look at a stored item from another connection.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringBoundsTests {
    /// A locked keyring ends, and another one that does not answer takes its name.
    @Test(.timeLimit(.minutes(1)), arguments: [KeyringPrompting.never, .allowed(deadline: .seconds(2))])
    func endsWhenAMuteKeyringFollowsALockedOne(prompting: KeyringPrompting) async throws {
        let session = try KeyringSession(.fake)
        let cache = try session.cache(prompting: prompting) { $0.readTimeout = .milliseconds(700) }
        let key = try randomKey()
        #expect(try await cache.record(for: key) == nil)
        try session.tell("locked", "yes")
        try session.tell("mutes", "yes")
        let outcome = await failure { try await withDeadline(.seconds(20)) { try await cache.record(for: key) } }
        #expect(outcome.code == .keyringTimedOut && outcome.time < .seconds(6), "\(outcome)")
    }

    @Test(.timeLimit(.minutes(1))) func believesNoKeyringThatStoresNothing() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        let one = CacheRecord("one")
        #expect(try await cache.replace(nil, with: one, for: key))
        try session.tell("keeps", "no")
        for (old, key) in [(one, key), (nil, try randomKey())] as [(CacheRecord?, CacheKey)] {
            let error = await #expect(throws: AuthenticationError.self) {
                try await cache.replace(old, with: CacheRecord("two"), for: key)
            }
            #expect(error?.message.contains("does not have it") == true, "\(String(describing: error))")
            #expect(try await cache.record(for: key) == old)
        }
    }

    /// A bus that takes connections and says nothing.
    @Test(.timeLimit(.minutes(1))) func triesAMuteBusAgain() async throws {
        let session = try KeyringSession(.fake)
        try session.signal(SIGSTOP, "BUS_PID")
        let cache = try session.cache { $0.readTimeout = .milliseconds(100) }
        let wait = await failure { try await withDeadline(.seconds(20)) { try await cache.connector.waitForKeyring() } }
        #expect(wait.code == nil && wait.time < .seconds(5), "\(wait)")
        try session.signal(SIGCONT, "BUS_PID")
        try await cache.connector.waitForKeyring()
    }

    /// KeePassXC gives an item only to the connection that made it, unless it is told otherwise.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("keepassxc", "own", true), ("xdg-dbus-proxy", "own", true), ("keepassxc", "open", false),
            ("python3", "own", false),
        ]
    )
    func warnsIfTheNextProgramCannotRead(name: String, items: String, warns: Bool) async throws {
        let session = try KeyringSession(.fake)
        try session.tell("called", name)
        try session.tell("items", items)
        let warnings = Warnings()
        let cache = KeyringTokenCache(
            applicationName: "Test",
            settings: try session.settings(),
            logger: Logger(label: "test") { _ in warnings }
        )
        for _ in 0..<2 {
            #expect(try await cache.replace(nil, with: CacheRecord("x"), for: randomKey()))
        }
        let seen = warnings.seen.messages.withLock { $0 }
        #expect(seen.count == (warns ? 1 : 0), "\(seen)")
        #expect(seen.allSatisfy { $0.contains("KeePassXC: Settings") && $0.contains("is stored") })
        #expect(session.log().isEmpty)
    }

    /// KeePassXC itself, with its own settings.
    @Test(.timeLimit(.minutes(1))) func warnsAboutTheDefaultsOfKeePassXC() async throws {
        let session = try KeyringSession(.keepassxcAsking)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        let warnings = Warnings()
        let cache = KeyringTokenCache(
            applicationName: "Test",
            settings: try session.settings(),
            logger: Logger(label: "test") { _ in warnings }
        )
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: randomKey()))
        #expect(warnings.seen.messages.withLock { $0.count } == 1)
    }
}

/// Keeps the warnings that are logged.
struct Warnings: LogHandler {
    final class Seen: Sendable {
        let messages = Mutex<[String]>([])
    }

    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    let seen = Seen()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        seen.messages.withLock { $0.append("\(event.message)") }
    }
}
