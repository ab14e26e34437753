// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Processes in a pid namespace without its own `/proc`, which shows them the processes of another namespace.
@Suite(.serialized, .timeLimit(.minutes(1)), .enabled(if: ForeignProc.isPossible, ForeignProc.reason))
struct ForeignProcTests {
    /// The lease holder is alive. If it were taken for dead, its lease would be stolen and its refresh token sent
    /// twice.
    @Test func waitsForAHolderThatProcDoesNotShow() async throws {
        let storage = try Storage(.file)
        let namespace = try await ForeignProc()
        let setup = try await SharedCacheSetup(
            storage.cache,
            workers: namespace.entering + storage.command,
            on: storage
        )
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let holder = try await setup.worker()
        let waiter = try await setup.worker { $0.tellsThatItWaits = true }
        holder.go()
        try await setup.provider.waitForRequest(.token)
        waiter.go()
        try await waiter.waiting()
        gate.open()
        let token = try #require(try await holder.report()).token
        #expect(token != nil)
        #expect(try #require(try await waiter.report()).token == token)
        #expect(setup.sentRefreshTokens.count == 1)
    }
}

/// Processes that cannot see each other, because each is in a namespace of its own: only the lock that is held with a lease
/// says whether its holder lives.
@Suite(.serialized, .timeLimit(.minutes(1)), .enabled(if: OwnNamespace.isPossible, OwnNamespace.reason))
struct OwnNamespaceTests {
    /// Without the lock, the next process would wait for the end of the lease, 45 s.
    @Test(arguments: [OwnNamespace.process, .time])
    func noticesADeathThatItCannotSee(_ namespace: OwnNamespace) async throws {
        let setup = try await SharedCacheSetup(.file)
        let victim = try await setup.worker(entering: namespace.entering) { $0.crash = "after-lease" }
        let next = try await setup.worker()
        victim.go()
        try await victim.end()
        next.go()
        let report = try #require(try await next.report())
        #expect(report.error == nil && report.token != nil, "\(report)")
        #expect(report.milliseconds < 20_000)
        #expect(setup.sentRefreshTokens.count == 1)
    }

    /// By the clock of the waiter the lease is over for a day, and its holder was never started.
    @Test(arguments: [OwnNamespace.process, .time], [true, false])
    func waitsForAHolderThatItCannotSee(_ namespace: OwnNamespace, isHolderInside: Bool) async throws {
        let setup = try await SharedCacheSetup(.file)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let inside = namespace.entering
        let holder = try await setup.worker(entering: isHolderInside ? inside : [])
        let waiter = try await setup.worker(entering: isHolderInside ? [] : inside) { $0.tellsThatItWaits = true }
        holder.go()
        try await setup.provider.waitForRequest(.token)
        waiter.go()
        try await waiter.waiting()
        gate.open()
        let token = try #require(try await holder.report()).token
        #expect(token != nil)
        #expect(try #require(try await waiter.report()).token == token)
        #expect(setup.sentRefreshTokens.count == 1)
    }
}

/// A namespace for one program.
enum OwnNamespace: Sendable {
    case process, time

    static let reason: Comment = "needs unshare of util-linux, and the right to make namespaces"

    static var isPossible: Bool {
        [OwnNamespace.process, .time].allSatisfy { namespace in
            let process = Process()
            process.executableURL = URL(filePath: namespace.entering[0])
            process.arguments = namespace.entering.dropFirst() + ["/bin/true"]
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    }

    /// The command that starts a program in a new namespace.
    var entering: [String] {
        let kinds =
            switch self {
            // The first process of a namespace cannot be killed from inside: the program is the second.
            case .process:
                ["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "/bin/sh", "-c", "\"$@\"; exit", "sh"]
            case .time: ["--time", "--boottime", "100000"]
            }
        return ["/usr/bin/unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + kinds
    }
}

/// A pid namespace that shows the `/proc` of its parent namespace.
///
/// The parent namespace is created too, and is full of sleeping processes. libdispatch ends a program whose thread
/// numbers are missing from `/proc`, so each number that a worker's thread gets must exist in the parent namespace.
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

    /// The process whose child is the first process of the parent namespace. The child reads from `life` until its end.
    private let keeper: Process
    /// Kept open as long as the namespace is needed, because `unshare` itself ignores SIGTERM.
    private let life: PrivatePipe
    /// The command that starts a program in the namespace.
    let entering: [String]

    init() async throws {
        let crowd = "count=0; while [ $count -lt \(Self.sleepers) ]; do sleep 600 & count=$((count + 1)); done"
        life = try PrivatePipe()
        keeper = try Self.start("\(crowd); exec /usr/bin/unshare --pid --fork /bin/cat", input: life.reading)
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if let namespaces = Self.namespaces(below: keeper.processIdentifier) {
                // An ordinary user may not set groups in a user namespace.
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
        try? life.writing.close()
        keeper.waitUntilExit()
    }

    /// Runs a shell command as the first process of a pid namespace with its own `/proc`.
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

    /// Returns the folder with the namespaces of the process's child, once the child's own children have another pid
    /// namespace.
    private static func namespaces(below process: pid_t) -> String? {
        let files = FileManager.default
        guard let children = try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8),
            let child = children.split(separator: " ").first
        else { return nil }
        let place = "/proc/\(child)/ns"
        // If the first process does not exist yet, the link to its namespace cannot be read.
        guard let own = try? files.destinationOfSymbolicLink(atPath: "\(place)/pid"),
            let below = try? files.destinationOfSymbolicLink(atPath: "\(place)/pid_for_children"), below != own
        else { return nil }
        return place
    }
}
