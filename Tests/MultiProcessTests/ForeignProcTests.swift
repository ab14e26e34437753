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
///
/// The one above is made, too, and is full of sleepers: libdispatch ends a program whose threads' numbers `/proc` does not
/// show, so each number that the workers' threads get must be somebody's there.
private final class ForeignProc: Sendable {
    static let reason: Comment = "needs unshare and nsenter of util-linux, and the right to make namespaces"

    static var isPossible: Bool {
        let command = "exec /usr/bin/unshare --pid --fork /usr/bin/nsenter --version"
        guard let keeper = try? start(command) else { return false }
        keeper.waitUntilExit()
        return keeper.terminationStatus == 0
    }

    private static let sleepers = 300
    private static let isRoot = geteuid() == 0

    /// Its child is the first process of the namespace above, and reads from `life` until its end.
    private let keeper: Process
    /// Held open as long as the namespace is needed: `unshare` itself ignores SIGTERM.
    private let life = Pipe()
    /// What starts a program in the namespace.
    let entering: [String]

    init() async throws {
        let crowd = "count=0; while [ $count -lt \(Self.sleepers) ]; do sleep 600 & count=$((count + 1)); done"
        keeper = try Self.start("\(crowd); exec /usr/bin/unshare --pid --fork /bin/cat", input: life)
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if let namespaces = Self.namespaces(below: keeper.processIdentifier) {
                // An ordinary user may set no groups in a user namespace.
                let user = Self.isRoot ? [] : ["--user=\(namespaces)/user", "--preserve-credentials"]
                let kinds = ["--mount=\(namespaces)/mnt", "--pid=\(namespaces)/pid_for_children"]
                entering = ["/usr/bin/nsenter"] + user + kinds + ["--"]
                return
            }
            try #require(ContinuousClock.now < deadline, "unshare made no namespaces")
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    deinit {
        try? life.fileHandleForWriting.close()
        keeper.waitUntilExit()
    }

    /// Runs a command of the shell as the first process of a pid namespace with a `/proc` of its own.
    private static func start(_ command: String, input: Any? = FileHandle.nullDevice) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        process.arguments =
            (isRoot ? [] : ["--user", "--map-root-user"])
            + ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", command]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    /// The folder with the namespaces of that process's child, once the namespace of the child's own children is another.
    private static func namespaces(below process: pid_t) -> String? {
        let files = FileManager.default
        guard let children = try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8),
            let child = children.split(separator: " ").first
        else { return nil }
        let place = "/proc/\(child)/ns"
        // Where the first process is not there yet, the link to its namespace cannot be read.
        guard let own = try? files.destinationOfSymbolicLink(atPath: "\(place)/pid"),
            let below = try? files.destinationOfSymbolicLink(atPath: "\(place)/pid_for_children"), below != own
        else { return nil }
        return place
    }
}
