// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import Glibc
import IdentityClient
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityKeyring

/// A retired link closes its descriptors. GLib ends a program that has no descriptor left.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringLinkEndTests {
    @Test(.timeLimit(.minutes(1))) func leavesNoDescriptorWhereThereIsNoKeyring() async throws {
        let session = try KeyringSession(.noService)
        try await expectNothingLeft {
            let cache = try session.cache()
            #expect(await failure { try await cache.status() }.code == .keyringNoService)
        }
    }

    @Test(.timeLimit(.minutes(1))) func leavesNoDescriptorOfAGoodKeyring() async throws {
        let session = try KeyringSession(.unlocked)
        try await expectNothingLeft {
            let (cache, key) = (try session.cache(), try randomKey())
            #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
            #expect(try await cache.record(for: key) == CacheRecord("x"))
        }
    }

    @Test(.timeLimit(.minutes(1))) func leavesNoDescriptorWhereThereIsNoBus() async throws {
        try await expectNothingLeft {
            let settings = KeyringSettings(address: "unix:path=/nonexistent/bus", directory: "/nonexistent")
            let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
            #expect(await failure { try await cache.status() }.code == .keyringNoSessionBus)
        }
    }

    /// The test asks the keyring, stops waiting for the answer, and drops the link.
    @Test(.timeLimit(.minutes(1))) func leavesNoDescriptorWhereAnAnswerIsMissing() async throws {
        let session = try KeyringSession(.unlocked)
        let thread = try await GLibThread.running(library: KeyringSettings().gioLibrary)
        let guardian = try await BusConnection.connect(to: session.value("BUS"), on: thread).value()
        let before = try descriptors()
        try session.signal(SIGSTOP, "KEYRING_PID")
        for _ in 0..<50 {
            let thread = try await GLibThread.running(library: KeyringSettings().gioLibrary)
            let bus = try await BusConnection.connect(to: session.value("BUS"), on: thread).value()
            let asked = Task {
                try await KeyringLink.call(
                    "ReadAlias",
                    of: "Service",
                    at: KeyringLink.root,
                    "('default',)",
                    "(o)",
                    on: bus,
                    within: .seconds(600)
                )
            }
            asked.cancel()
            await #expect(throws: CancellationError.self) { try await asked.value }
        }
        #expect(try await eventually { try descriptors() <= before })
        try session.signal(SIGCONT, "KEYRING_PID")
        _ = guardian
    }

    /// A stopped bus takes no more than its socket holds. Closing does not wait until the rest is sent.
    @Test(.timeLimit(.minutes(1))) func leavesNoDescriptorWhereTheBusTakesNothing() async throws {
        let session = try KeyringSession(.noService)
        let before = try descriptors()
        try await withThrowingTaskGroup { group in
            var buses: [BusConnection] = []
            for _ in 0..<10 {
                let thread = try await GLibThread.running(library: KeyringSettings().gioLibrary)
                buses.append(try await BusConnection.connect(to: session.value("BUS"), on: thread).value())
            }
            #expect(try descriptors() >= before + 10)
            try session.signal(SIGSTOP, "BUS_PID")
            for bus in buses {
                group.addTask {
                    await #expect(throws: GLibFailure.self) {
                        try await bus.call(
                            "Hear",
                            of: "org.example.Nobody",
                            at: "/",
                            in: "org.example.Nobody",
                            "('\(String(repeating: "x", count: 4 << 20))',)",
                            returning: "()",
                            timeout: .milliseconds(100)
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        // GLib has created its own descriptors meanwhile.
        #expect(try await eventually { try descriptors() < before + 5 })
        try session.signal(SIGCONT, "BUS_PID")
    }

    private func expectNothingLeft(_ work: () async throws -> Void) async throws {
        try await work()  // GLib creates its own descriptors.
        let before = try descriptors()
        for _ in 0..<50 { try await work() }
        #expect(try await eventually { try descriptors() <= before })
    }

    private func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
