// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityTestSupport
import Synchronization
import Testing

/// The keyring's own dialog, on a screen, with typed keys.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"), .serialized)
struct KeyringDialogTests {
    private func locked() async throws -> (KeyringSession, CacheKey) {
        let session = try KeyringSession(.desktop)
        let key = try randomKey()
        #expect(try await session.cache().replace(nil, with: CacheRecord("kept"), for: key))
        try session.lock()
        return (session, key)
    }

    /// The outcomes of the calls that asked for a dialog.
    private final class Ended: Sendable {
        let codes = Mutex<[AuthenticationError.Code?]>([])
    }

    private func dialogs(_ session: KeyringSession, _ mark: String = "--name Unlock") throws -> Int {
        let found = try session.run(
            "DISPLAY=\(session.value("SCREEN")) xdotool search --onlyvisible \(mark) || true"
        )
        return found.split(separator: "\n").count
    }

    private func type(_ keys: String, in session: KeyringSession, _ mark: String = "--name Unlock") throws {
        try session.run(
            "export DISPLAY=\(session.value("SCREEN")); "
                + "timeout 2 xdotool windowfocus --sync $(xdotool search --onlyvisible \(mark) | head -1); xdotool \(keys)"
        )
    }

    @Test(.timeLimit(.minutes(1))) func goesOnWhenThePersonTypesThePassword() async throws {
        let (session, key) = try await locked()
        let cache = try session.cache(prompting: .allowed(deadline: .seconds(20)))
        let reading = Task { try await cache.record(for: key) }
        #expect(try await eventually { try dialogs(session) == 1 })
        try type("type --delay 20 throw-away; xdotool key Return", in: session)
        #expect(try await reading.value == CacheRecord("kept"))
    }

    /// KeePassXC with its own defaults: an item is open only to the connection that made it.
    @Test(.timeLimit(.minutes(1))) func goesOnWhenThePersonAllowsTheItem() async throws {
        let session = try KeyringSession(.keepassxcAsking)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        let key = try randomKey()
        let writer = try session.cache()
        #expect(try await writer.replace(nil, with: CacheRecord("kept"), for: key))
        #expect(await failure { try await session.cache().record(for: key) }.code == .keyringLocked)
        let cache = try session.cache(prompting: .allowed(deadline: .seconds(20)))
        let reading = Task { try await cache.record(for: key) }
        let title = "--name 'Access Request'"
        #expect(try await eventually { try dialogs(session, title) == 1 })
        try type("key Return", in: session, title)
        #expect(try await reading.value == CacheRecord("kept"))
        #expect(try await cache.replace(CacheRecord("kept"), with: CacheRecord("new"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("new"))
    }

    /// A new user account, or an account with automatic login, has no collection.
    @Test(.timeLimit(.minutes(1))) func goesOnWhenThePersonMakesAKeyring() async throws {
        let session = try KeyringSession(.desktopNew)
        let key = try randomKey()
        #expect(await failure { try await session.cache().record(for: key) }.code == .keyringNoDefaultCollection)
        let cache = try session.cache(prompting: .allowed(deadline: .seconds(20)))
        let writing = Task { try await cache.replace(nil, with: CacheRecord("kept"), for: key) }
        let nameless = "--class gcr-prompter"
        #expect(try await eventually { try dialogs(session, nameless) == 1 })
        let keys = "type --delay 20 new; xdotool key Tab; xdotool type --delay 20 new; xdotool key Return"
        try type(keys, in: session, nameless)
        #expect(try await writing.value)
        #expect(try await session.cache().record(for: key) == CacheRecord("kept"))
    }

    @Test(.timeLimit(.minutes(1))) func saysThatThePersonClosedTheDialog() async throws {
        let (session, key) = try await locked()
        let cache = try session.cache(prompting: .allowed()) { $0.minimumDialogTime = .zero }
        let reading = Task { await failure { try await cache.record(for: key) }.code }
        #expect(try await eventually { try dialogs(session) == 1 })
        try type("key Escape", in: session)
        #expect(await reading.value == .keyringPromptDismissed)
        #expect(try await eventually { try dialogs(session) == 0 })
        #expect(await failure { try await cache.record(for: key) }.code == .keyringPromptDismissed)
        #expect(try dialogs(session) == 0)
    }

    /// GNOME Keyring shows no further dialog after three requests at once, if the first dialog is closed.
    @Test(.timeLimit(.minutes(1))) func showsEveryProgramItsDialog() async throws {
        let (session, key) = try await locked()
        let ended = Ended()
        var programs: [Task<Void, Never>] = []
        for _ in 0..<3 {
            let cache = try session.cache(prompting: .allowed()) { $0.minimumDialogTime = .zero }
            _ = try await cache.status()
            programs.append(
                Task {
                    let code = await failure { try await cache.record(for: key) }.code
                    ended.codes.withLock { $0.append(code) }
                }
            )
        }
        #expect(
            try await eventually {
                // The dialog may have gone meanwhile.
                if try dialogs(session) > 0 { try? type("key Escape", in: session) }
                return ended.codes.withLock { $0.count } == 3
            }
        )
        #expect(ended.codes.withLock { $0 } == Array(repeating: .keyringPromptDismissed, count: 3))
        programs.forEach { $0.cancel() }
    }

    /// Dismissing the dialog would end GNOME Keyring, and hide the sign-ins of every program until the next login.
    @Test(.timeLimit(.minutes(1))) func leavesTheKeyringAliveWhenItStopsWaiting() async throws {
        let (session, key) = try await locked()
        let process = try session.value("KEYRING_PID")
        let cache = try session.cache(prompting: .allowed(deadline: .seconds(20)))
        let reading = Task { try await cache.record(for: key) }
        #expect(try await eventually { try dialogs(session) == 1 })
        let start = ContinuousClock.now
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(start.duration(to: .now) < .seconds(2))
        #expect(try dialogs(session) == 1)
        try type("type --delay 20 throw-away; xdotool key Return", in: session)
        #expect(try await eventually { (try? await session.cache().record(for: key)) == CacheRecord("kept") })
        #expect(try session.run("kill -0 \(process) && echo alive") == "alive\n")
    }
}
