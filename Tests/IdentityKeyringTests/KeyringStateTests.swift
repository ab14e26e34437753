// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityKeyring

@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringStateTests {
    @Test(.timeLimit(.minutes(5))) func keepsWhatEveryCachePromises() async throws {
        let session = try KeyringSession(.unlocked)
        try await TokenCacheConformance(costRecords: nil) { try session.cache() }.run()
    }

    @Test(.timeLimit(.minutes(5))) func keepsItWithKeePassXC() async throws {
        let session = try KeyringSession(.keepassxc)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        try await TokenCacheConformance(costRecords: nil) { try session.cache() }.run()
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheKeyringIsLockedSinceItsStart() async throws {
        let session = try KeyringSession(.locked)
        let (cache, key) = (try session.cache(), try randomKey())
        let read = await failure { try await cache.record(for: key) }
        #expect(read.code == .keyringLocked)
        #expect(await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }.code == .keyringLocked)
        #expect(await failure { try await cache.records(of: .account, in: key.group) }.code == .keyringLocked)
        let again = await failure { try await cache.record(for: key) }
        #expect(again.time < .milliseconds(60), "\(again.time)")
        #expect(try await cache.status().isLocked)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheKeyringWasLockedWhileItRanAndComesBack() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("kept"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("kept"))
        try session.lock()
        #expect(try await eventually { await failure { try await cache.record(for: key) }.code == .keyringLocked })
        #expect(await failure { try await cache.records(of: .account, in: key.group) }.code == .keyringLocked)
        try session.signal(SIGKILL, "KEYRING_PID")
        try session.restartKeyring()
        #expect(try await eventually { (try? await cache.record(for: key)) == CacheRecord("kept") })
    }

    @Test(.timeLimit(.minutes(1))) func saysThatThereIsNoServiceOrCollection() async throws {
        for (mode, code) in [
            (KeyringSession.Mode.noService, AuthenticationError.Code.keyringNoService),
            (.noCollection, .keyringNoDefaultCollection),
        ] {
            let session = try KeyringSession(mode)
            let cache = try session.cache()
            let key = try randomKey()
            #expect(await failure { try await cache.record(for: key) }.code == code)
            let again = await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }
            #expect(again.code == code)
            #expect(again.time < .milliseconds(100), "\(again.time)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheBusIsDead() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        try session.signal(SIGKILL, "BUS_PID")
        #expect(
            try await eventually { await failure { try await cache.record(for: key) }.code == .keyringNoSessionBus }
        )
    }

    /// GNOME Keyring ends, and comes back locked, when a session is the first that it hears of a connection.
    @Test(.timeLimit(.minutes(1))) func opensNoSessionBeforeAFirstAnswer() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("forgets", "yes")
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("kept"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("kept"))
    }

    @Test(.timeLimit(.minutes(1))) func answersInTimeWhenTheDaemonIsStoppedAndRecovers() async throws {
        let session = try KeyringSession(.unlocked)
        let key = try randomKey()
        let cache = try session.cache {
            $0.readTimeout = .milliseconds(700)
            $0.writeTimeout = .milliseconds(900)
        }
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        try session.signal(SIGSTOP, "KEYRING_PID")
        let other = try randomKey()
        let first = await failure { try await cache.record(for: other) }
        #expect(first.code == .keyringTimedOut)
        #expect(first.time < .seconds(2), "\(first.time)")
        let second = await failure { try await cache.replace(nil, with: CacheRecord("y"), for: other) }
        #expect(second.code == .keyringTimedOut)
        #expect(second.time < .milliseconds(100), "\(second.time)")
        try session.signal(SIGCONT, "KEYRING_PID")
        #expect(try await eventually { await failure { try await cache.record(for: other) }.code == nil })
        #expect(try await cache.record(for: key) == CacheRecord("x"))
    }

    @Test(.timeLimit(.minutes(1))) func endsSoonAfterItsTaskWasCancelled() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.record(for: key) == nil)
        try session.signal(SIGSTOP, "KEYRING_PID")
        for isWrite in [false, true] {
            let task = Task {
                if isWrite { _ = try await cache.replace(nil, with: CacheRecord("x"), for: key) }
                _ = try await cache.record(for: key)
            }
            try await Task.sleep(for: .milliseconds(50))
            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(start.duration(to: .now) < .milliseconds(100))
        }
        try session.signal(SIGCONT, "KEYRING_PID")
        #expect(try await eventually { (try? await cache.replace(nil, with: nil, for: key)) == true })
    }

    @Test(.timeLimit(.minutes(1))) func losesNothingAcknowledgedWhenTheDaemonIsKilled() async throws {
        let session = try KeyringSession(.unlocked)
        let cache = try session.cache()
        var acknowledged: [CacheKey: CacheRecord] = [:]
        for round in 0..<4 {
            let killer = Task {
                try await Task.sleep(for: .milliseconds(40 + 35 * round))
                try session.signal(SIGKILL, "KEYRING_PID")
            }
            for number in 0..<100 {
                let key = try randomKey()
                let record = CacheRecord("round \(round), number \(number)")
                guard (try? await cache.replace(nil, with: record, for: key)) == true else { break }
                acknowledged[key] = record
            }
            try await killer.value
            try session.restartKeyring()
            let group = try CacheGroup("suite")
            #expect(
                try await eventually { await failure { try await cache.records(of: .account, in: group) }.code == nil }
            )
            let found = try await cache.records(of: .account, in: group)
            for (key, record) in acknowledged { #expect(found[key] == record) }
        }
        #expect(!acknowledged.isEmpty)
    }

    @Test func saysThatALibraryIsMissing() async throws {
        let key = try randomKey()
        for change: (inout KeyringSettings) -> Void in [
            { $0.gioLibrary = "libno-such-gio.so.0" }, { $0.secretLibrary = "libno-such-secret.so.0" },
        ] {
            var settings = KeyringSettings()
            change(&settings)
            let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
            let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
            #expect(error?.code == .keyringLibraryMissing)
            #expect(error?.message.contains("libno-such") == true)
            #expect(error?.message.contains("apt install libsecret-1-0") == true)
        }
    }

    @Test func saysThatThereIsNoBus() async throws {
        var settings = KeyringSettings()
        settings.busAddress = "unix:path=/nonexistent/bus"
        let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
        let key = try randomKey()
        #expect(await failure { try await cache.record(for: key) }.code == .keyringNoSessionBus)
        let again = await failure { try await cache.record(for: key) }
        #expect(again.time < .milliseconds(60), "\(again.time)")
    }
}
