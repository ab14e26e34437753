// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import Testing

/// Processes in a pid namespace without a `/proc` of its own: what they see there are other processes.
@Suite(.serialized, .timeLimit(.minutes(1)), .enabled(if: ForeignProc.isPossible, ForeignProc.reason))
struct ForeignProcTests {
    /// The holder lives. Taken for dead, it would have its lease stolen, and its refresh token would be sent twice.
    @Test func waitsForAHolderThatProcDoesNotShow() async throws {
        let storage = try Storage(.file)
        let namespace = try await ForeignProc()
        let house = try await Household(
            storage.cache,
            workers: namespace.entering + storage.command,
            on: storage
        )
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let holder = try await house.worker()
        let waiter = try await house.worker { $0.tellsThatItWaits = true }
        holder.go()
        try await house.provider.waitForRequest(.token)
        waiter.go()
        try await waiter.waiting()
        gate.open()
        let token = try #require(try await holder.report()).token
        #expect(token != nil)
        #expect(try #require(try await waiter.report()).token == token)
        #expect(house.sentRefreshTokens.count == 1)
    }
}

/// A pid namespace that shows the `/proc` of the one above it.
private final class ForeignProc: Sendable {
    static let reason: Comment = "needs unshare and nsenter of util-linux, and the right to make namespaces"

    static var isPossible: Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        process.arguments = unsharing + ["/usr/bin/nsenter", "--version"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    private static let isRoot = geteuid() == 0
    private static let unsharing =
        (isRoot ? [] : ["--user", "--map-current-user"]) + ["--pid", "--fork", "--kill-child"]

    /// Waits for the namespace's first process, which reads from `life` until its end.
    private let keeper: Process
    /// Held open as long as the namespace is needed: `unshare` itself ignores SIGTERM.
    private let life = Pipe()

    init() async throws {
        keeper = Process()
        keeper.executableURL = URL(filePath: "/usr/bin/unshare")
        keeper.arguments = Self.unsharing + ["/bin/cat"]
        keeper.standardInput = life
        keeper.standardOutput = FileHandle.nullDevice
        try keeper.run()
        let (own, there) = ("/proc/self/ns/pid", "/proc/\(keeper.processIdentifier)/ns/pid_for_children")
        let outside = try FileManager.default.destinationOfSymbolicLink(atPath: own)
        let deadline = ContinuousClock.now + .seconds(20)
        // Where the first process is not there yet, the link cannot be read.
        while (try? FileManager.default.destinationOfSymbolicLink(atPath: there)) ?? outside == outside {
            try #require(ContinuousClock.now < deadline, "unshare made no namespace")
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    deinit {
        try? life.fileHandleForWriting.close()
        keeper.waitUntilExit()
    }

    /// What starts a program in the namespace.
    var entering: [String] {
        let place = "/proc/\(keeper.processIdentifier)/ns"
        let user = Self.isRoot ? [] : ["--user=\(place)/user", "--preserve-credentials"]
        return ["/usr/bin/nsenter"] + user + ["--pid=\(place)/pid_for_children", "--"]
    }
}
