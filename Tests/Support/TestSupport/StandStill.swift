// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
package import Glibc

/// A way in which a process stands still while its clocks go on.
package enum StandStill: String, CaseIterable, Sendable {
    /// SIGSTOP and SIGCONT, as by Ctrl-Z or a debugger.
    case stopped
    /// A frozen cgroup, as by `docker pause`.
    case frozen

    struct Failed: Error, CustomStringConvertible { let description: String }

    /// The ways that there are here. To freeze a process, the tests have to be allowed to make a cgroup.
    package static let possible: [StandStill] = {
        guard (try? FreezableGroup(of: nil)) != nil else {
            print("STOPS frozen: left out, because no cgroup that can be frozen can be made here")
            return [.stopped]
        }
        return allCases
    }()

    /// Stops a process by SIGSTOP, and waits until it stands still.
    ///
    /// The kernel lets one thread take the signal. Until it gets its turn, which is late on a busy machine, the others go on.
    package static func stop(_ process: pid_t) async throws {
        kill(process, SIGSTOP)
        try await waitUntilStopped(process)
    }

    /// Waits until a process that a signal stops stands still.
    package static func waitUntilStopped(_ process: pid_t) async throws {
        try await wait { threads(of: process).allSatisfy { $0 == "T" || $0 == "t" } }
    }

    /// Lets a process stand still while `body` runs.
    package func hold(_ process: pid_t, while body: () async throws -> Void) async throws {
        switch self {
        case .stopped:
            defer { kill(process, SIGCONT) }
            try await Self.stop(process)
            try await body()
        case .frozen:
            let group = try FreezableGroup(of: process)
            try await group.freeze()
            defer { group.thaw() }
            try await body()
        }
    }
}

/// The states of a process's threads, none if it has ended. See proc(5).
private func threads(of process: pid_t) -> [Character?] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []  // ended
    return threads.map { thread in
        // A thread that has ended meanwhile has no state.
        let line = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8)
        return line?.split(separator: ")").last?.first { $0 != " " }
    }
}

/// A cgroup of one process, of either version. It is removed with this object.
private final class FreezableGroup: Sendable {
    private let parent: String
    private let directory: String
    private let isOfVersion2: Bool
    private let process: pid_t?

    /// - Parameter process: `nil` only tries whether it can be made.
    init(of process: pid_t?) throws {
        self.process = process
        let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }.filter { $0.count > 3 }
        let own = try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init) }
        for mount in mounts where mount[2] == "cgroup2" || mount[3].split(separator: ",").contains("freezer") {
            let isOfVersion2 = mount[2] == "cgroup2"
            let path = own.first { isOfVersion2 ? $0[1].isEmpty : $0[1].split(separator: ",").contains("freezer") }?[2]
            let parent = mount[1] + (path == "/" ? "" : path ?? "")
            let directory = "\(parent)/identity-test-\(UUID().uuidString)"
            guard unsafe mkdir(directory, 0o755) == 0 else { continue }
            let control = "\(directory)/\(isOfVersion2 ? "cgroup.freeze" : "freezer.state")"
            guard FileManager.default.fileExists(atPath: control) else {
                unsafe rmdir(directory)
                continue
            }
            (self.parent, self.directory, self.isOfVersion2) = (parent, directory, isOfVersion2)
            if let process { try Self.write("\(process)", to: "\(directory)/cgroup.procs") }
            return
        }
        throw StandStill.Failed(description: "no cgroup can be made here")
    }

    deinit {
        if let process { try? Self.write("\(process)", to: "\(parent)/cgroup.procs") }  // it may have ended
        unsafe rmdir(directory)
    }

    func freeze() async throws {
        try set(isFrozen: true)
        let (file, text) = isOfVersion2 ? ("cgroup.events", "frozen 1") : ("freezer.state", "FROZEN")
        try await wait { try String(contentsOfFile: "\(directory)/\(file)", encoding: .utf8).contains(text) }
    }

    func thaw() {
        try? set(isFrozen: false)  // the test sees that the process does not go on
    }

    private func set(isFrozen: Bool) throws {
        if isOfVersion2 {
            try Self.write(isFrozen ? "1" : "0", to: "\(directory)/cgroup.freeze")
        } else {
            try Self.write(isFrozen ? "FROZEN" : "THAWED", to: "\(directory)/freezer.state")
        }
    }

    private static func write(_ text: String, to file: String) throws {
        let descriptor = unsafe open(file, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count else {
            throw StandStill.Failed(description: "\(file) could not be written: error \(errno)")
        }
    }
}

/// Pseudorandom numbers that are the same in every run (splitmix64).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

/// Times between two bounds, drawn at random. The seed is printed, and `IDENTITY_SOAK_SEED` repeats it.
package struct RandomTimes {
    private var generator: SeededGenerator

    package init(_ name: String) {
        let given = ProcessInfo.processInfo.environment["IDENTITY_SOAK_SEED"].flatMap(UInt64.init)
        let seed = given ?? .random(in: 0..<1 << 32)
        generator = SeededGenerator(seed: seed)
        print("\(name): IDENTITY_SOAK_SEED=\(seed)")
        fflush(nil)
    }

    package mutating func next(_ seconds: Range<Double>) -> Duration {
        .seconds(Double.random(in: seconds, using: &generator))
    }
}
