// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The clocks of the processes that are started with it: a test steps them while they run or stand still.
package final class SteppedClock: Sendable {
    struct Failed: Error { let description: String }

    private let directory: TemporaryDirectory
    private var file: String { "\(directory.path)/steps" }
    private let steps = Shared<[Int64]>([0, 0, 0])

    /// Builds `Tests/Support/clock/clock.c`.
    package init() throws {
        directory = try TemporaryDirectory()
        try store([0, 0, 0])
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../clock/clock.c").path
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["clang", "-shared", "-fPIC", "-O1", "-o", "\(directory.path)/clock.so", source]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else {
            throw Failed(description: "Swift's clang could not build \(source)")
        }
    }

    /// The command before a command whose clocks these are.
    package var entering: [String] { ["/usr/bin/env"] + variables.map { "\($0)=\($1)" } }

    package var variables: [String: String] {
        ["LD_PRELOAD": "\(directory.path)/clock.so", "IDENTITY_TEST_CLOCK": file]
    }

    /// Puts the clocks forward, or the real time back.
    package func step(real: Duration, monotonic: Duration, boot: Duration) throws {
        let new = steps.withLock { steps in
            for (index, step) in [real, monotonic, boot].enumerated() { steps[index] += Int64(step / .nanoseconds(1)) }
            return steps
        }
        try store(new)
    }

    /// In place: the processes have the file in their memory.
    private func store(_ steps: [Int64]) throws {
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let count = unsafe steps.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == steps.count * 8 else {
            throw Failed(description: "\(file) could not be written: error \(errno)")
        }
    }
}
