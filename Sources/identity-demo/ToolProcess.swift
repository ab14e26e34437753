// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// `identityctl` in a process of its own. The executable lies beside this program's.
struct ToolProcess {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
    }

    /// Runs the tool to its end, without the variables that stand in for its options, and without standard error.
    ///
    /// Cancelling the task ends the process.
    static func run(_ arguments: [String]) async throws -> Outcome {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let process = Process()
        process.executableURL = own.deletingLastPathComponent().appendingPathComponent("identityctl")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("IDENTITYCTL_") }
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let pid = process.processIdentifier
        let text = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    let data = output.fileHandleForReading.readDataToEndOfFile()
                    continuation.resume(returning: String(decoding: data, as: UTF8.self))
                }
            }
        } onCancel: {
            _ = kill(pid, SIGTERM)
        }
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: text)
    }
}
