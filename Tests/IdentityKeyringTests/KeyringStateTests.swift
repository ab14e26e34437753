// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityKeyring
@testable import IdentityMSALKeyring

@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringStateTests {
    @Test(.timeLimit(.minutes(5))) func keepsWhatEveryCachePromises() async throws {
        let session = try KeyringSession(.unlocked)
        try await TokenCacheConformance(costRecords: nil) { try session.cache() }.run()
    }

    @Test(.timeLimit(.minutes(5))) func keepsThemWithKeePassXC() async throws {
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

    /// GNOME Keyring crashes, and comes back locked, if the first call of a connection opens a session.
    @Test(.timeLimit(.minutes(1))) func opensNoSessionBeforeAFirstAnswer() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("forgets", "yes")
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("kept"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("kept"))
    }

    /// Another one has the name at once.
    @Test(.timeLimit(.minutes(1))) func goesOnWithTheNextKeyringIfOneEndsAtTheFirstQuestion() async throws {
        let session = try KeyringSession(.fake)
        try session.restartFake()
        let bus = "gdbus call --session -d org.freedesktop.DBus -o /org/freedesktop/DBus -m org.freedesktop.DBus"
        let queue = "\(bus).ListQueuedOwners org.freedesktop.secrets"
        #expect(try await eventually { try session.run(queue).contains("', '") })
        try session.tell("ends", "yes")
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.record(for: key) == nil)
        #expect(try !session.run(queue).contains("', '"))
    }

    /// Some keyrings find no locked items. An item that is locked at one question, and open at the next, is not absent.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("lolo", false), ("olo", false), ("ooloo", false), ("looloo", false), ("olol", true), ("lololo", true),
            ("loll", true), ("ololl", true), ("lolllll", true), ("lololololololololo", true),
        ]
    )
    func isNeverAbsentWhileItsLockChanges(_ plan: String, mayBeLocked: Bool) async throws {
        let session = try KeyringSession(.fake)
        let (key, kept) = (try randomKey(), CacheRecord("kept"))
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        func outcome(_ work: (KeyringTokenCache) async throws -> Bool) async throws -> String {
            try session.tell("locked", "no")
            let cache = try session.cache()
            try session.tell("plan", plan)
            do {
                return try await work(cache) ? "kept" : "absent"
            } catch AuthenticationError.Code.keyringLocked {
                return "locked"
            }
        }
        let outcomes = [
            try await outcome { try await $0.record(for: key) == kept },
            try await outcome { try await $0.records(of: .account, in: key.group) == [key: kept] },
            try await outcome { try await !$0.replace(nil, with: CacheRecord("x"), for: key) },
        ]
        #expect(outcomes.allSatisfy { $0 == "kept" || mayBeLocked && $0 == "locked" }, "\(outcomes)")
    }

    /// Open at the first look, and locked when it is searched next, without a signal: only a second look tells.
    @Test(.timeLimit(.minutes(1)), arguments: ["ol", "lol", "loll"])
    func isNotAbsentIfItWasLockedInSilence(_ plan: String) async throws {
        let session = try KeyringSession(.fake)
        let (key, kept) = (try randomKey(), CacheRecord("kept"))
        #expect(try await session.cache().replace(nil, with: kept, for: key))
        let cache = try session.cache()
        try session.tell("silent", "yes")
        try session.tell("plan", plan)
        #expect(await failure { try await cache.record(for: key) }.code == .keyringLocked)
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

    /// The keyring stops during the search, and does not answer.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func endsSoonAfterItsTaskWasCancelled(isWrite: Bool) async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.record(for: key) == nil)
        try session.tell("tells", "yes")
        try session.tell("stops", "yes")
        let task = Task {
            if isWrite { _ = try await cache.replace(nil, with: CacheRecord("x"), for: key) }
            _ = try await cache.record(for: key)
        }
        #expect(try await eventually { session.log().contains("search") })
        let start = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(start.duration(to: .now) < .seconds(2))
        try session.signal(SIGCONT, "KEYRING_PID")
        try session.tell("stops", "no")
        #expect(try await eventually { (try? await cache.replace(nil, with: nil, for: key)) == true })
    }

    /// A bus that answers nonsense is no reason to store tokens in clear text.
    @Test(.timeLimit(.minutes(1))) func takesNoHostileBusForAMissingBus() async throws {
        let session = try KeyringSession(.noService)
        let address = "\(session.directory)/hostile"
        let program = """
            import os, socket
            bus = socket.socket(socket.AF_UNIX)
            bus.bind("\(address).new")
            bus.listen()
            os.rename("\(address).new", "\(address)")
            while True:
                client = bus.accept()[0]
                client.recv(100)
                client.sendall(b"NONSENSE \\x00\\xff\\r\\n")
                client.close()
            """
        let id = try session.run("/usr/bin/python3 -c '\(program)' >/dev/null 2>&1 & echo $!")
        let process = try #require(Int32(id.filter(\.isNumber)))
        defer { kill(process, SIGKILL) }
        #expect(try await eventually { FileManager.default.fileExists(atPath: address) })
        let keyring = try session.cache { $0.busAddress = "unix:path=\(address)" }
        #expect(await failure { try await keyring.record(for: randomKey()) }.code == .cache)
        let desktop = DesktopTokenCache(
            keyring: keyring,
            policy: .prefer(.encryptedFile, else: .file),
            directory: "\(session.directory)/state",
            prompting: .never
        )
        let write = await failure { try await desktop.replace(nil, with: CacheRecord("x"), for: randomKey()) }
        #expect(write.code == .cache)
        #expect(try await desktop.rememberedStore(of: CacheGroup("suite")) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func losesNothingAcknowledgedWhenTheDaemonIsKilled() async throws {
        let session = try KeyringSession(.unlocked)
        let cache = try session.cache()
        var acknowledged: [CacheKey: CacheRecord] = [:]
        for round in 0..<4 {
            var killer: Task<Void, any Error>?
            for number in 0..<100 {
                let key = try randomKey()
                if number == 2 * round { killer = try await session.killWithTheNextChange(of: key, in: cache) }
                let record = CacheRecord("round \(round), number \(number)")
                guard (try? await cache.replace(nil, with: record, for: key)) == true else { break }
                acknowledged[key] = record
            }
            try await killer?.value
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
            let package = settings.gioLibrary.contains("no-such") ? "libglib2.0-0" : "libsecret-1-0"
            #expect(error?.message.contains("apt install \(package)") == true)
        }
    }

    /// A collection that ends with the session keeps nothing.
    @Test(.timeLimit(.minutes(1))) func takesNoCollectionOfTheSession() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("collection", "session")
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(await failure { try await cache.record(for: key) }.code == .keyringNoDefaultCollection)
        let write = await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }
        #expect(write.code == .keyringNoDefaultCollection)
        #expect(await failure { try await cache.status() }.code == .keyringNoDefaultCollection)
    }

    /// oo7-daemon starts with the graphical session only.
    @Test(.timeLimit(.minutes(1))) func findsNoKeyringOverSSHThatNeedsAScreen() async throws {
        let session = try KeyringSession(.graphical)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(await failure { try await cache.record(for: key) }.code == .keyringNoService)
        let write = await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }
        #expect(write.code == .keyringNoService && write.time < .seconds(5))
        // The person logs in at the screen meanwhile.
        try session.restartFake()
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
    }

    /// Labels and attributes come from programs and configuration.
    @Test(.timeLimit(.minutes(1))) func storesUnderANameWithNUL() async throws {
        let session = try KeyringSession(.unlocked)
        let settings = try session.settings()
        let cache = KeyringTokenCache(applicationName: "A\0B'\u{1F600}", settings: settings)
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("x"))
        let found = try session.run("secret-tool search --all xdg:schema SwiftIdentityClient.Record")
        #expect(found.contains("label = A\u{FFFD}B'\u{1F600} (sign-in)"), "\(found)")
        let item = MSALKeyringItem.readOnly(schema: "a\0b", attributes: ["c\0": "\0"])
        #expect(try await cache.newestSecret(with: item.query) == nil)
    }

    /// A bus of another user, as with sudo.
    @Test(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0, "needs root"))
    func saysThatTheBusBelongsToAnother() async throws {
        let session = try KeyringSession(.noService)
        let address = "\(session.directory)/other-bus"
        let program = """
            import os, socket
            bus = socket.socket(socket.AF_UNIX)
            bus.bind("\(address).new")
            os.chown("\(address).new", 65534, 65534)
            bus.listen()
            os.rename("\(address).new", "\(address)")
            while True:
                client = bus.accept()[0]
                client.recv(100)
                client.sendall(b"REJECTED EXTERNAL\\r\\n")
                client.close()
            """
        let id = try session.run("/usr/bin/python3 -c '\(program)' >/dev/null 2>&1 & echo $!")
        let process = try #require(Int32(id.filter(\.isNumber)))
        defer { kill(process, SIGKILL) }
        #expect(try await eventually { FileManager.default.fileExists(atPath: address) })
        let cache = try session.cache { $0.busAddress = "unix:path=\(address)" }
        let error = await #expect(throws: AuthenticationError.self) { try await cache.status() }
        #expect(error?.code == .keyringAccessDenied)
        #expect(error?.message.contains("belongs to user 65534") == true && error?.message.contains("sudo") == true)
        #expect(error?.isOfAnothersBus == true)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: ["unix:path=/nonexistent/bus", "garbage", "unix:path=", "unix:tmpdir=/tmp", "\u{1B}[31m"]
    )
    func namesTheVariableThatLeadsNowhere(address: String) async throws {
        let session = try KeyringSession(.noService)
        var settings = try session.settings()
        settings.busAddress = nil
        let runtime = "\(session.directory)/run"
        settings.environment = { ["DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": runtime][$0] }
        let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
        let error = await #expect(throws: AuthenticationError.self) { try await cache.status() }
        #expect(error?.code == .keyringNoSessionBus)
        #expect(error?.message.contains("DBUS_SESSION_BUS_ADDRESS") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\(runtime)/bus") == true && error?.message.contains(address) == false)
        let desktop = DesktopTokenCache(
            keyring: cache,
            policy: .prefer(.encryptedFile, else: .file),
            directory: "\(session.directory)/state",
            prompting: .never
        )
        let write = await failure { try await desktop.replace(nil, with: CacheRecord("x"), for: randomKey()) }
        #expect(write.code == .keyringNoSessionBus)
        #expect(try await desktop.rememberedStore(of: CacheGroup("suite")) == nil)
        // Without the variable the bus of the runtime directory is used.
        settings.environment = { ["XDG_RUNTIME_DIR": runtime][$0] }
        let found = KeyringTokenCache(applicationName: "Test", settings: settings)
        #expect(await failure { try await found.status() }.code == .keyringNoService)
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
