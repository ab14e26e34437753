// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport

/// The POSIX shell of this computer.
enum Shell {
    /// Runs a line.
    ///
    /// - Returns: The standard output of the line.
    static func run(_ line: String) throws -> String {
        let process = Process()
        let output = try PrivatePipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        process.standardOutput = output.writing
        try process.run()
        try output.writing.close()
        defer { process.waitUntilExit() }
        return String(decoding: try output.reading.readToEnd() ?? Data(), as: UTF8.self)
    }
}
