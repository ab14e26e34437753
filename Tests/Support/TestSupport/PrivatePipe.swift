// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Foundation
import Glibc
import SystemSupport

/// A pipe that only the program gets that it is meant for. Every program that starts meanwhile inherits Foundation's `Pipe`, and its
/// reader then waits for the end of that program too.
package final class PrivatePipe: Sendable {
    package let reading: FileHandle
    package let writing: FileHandle

    package init() throws {
        guard let ends = SystemCall.pipe() else { throw CallFailed(call: "pipe2") }
        reading = FileHandle(fileDescriptor: ends.reading, closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends.writing, closeOnDealloc: true)
    }

    /// Keeps the ends of this process open until a process ends: one that writes more than is read would end at a closed pipe.
    package func stays(with process: Process) {
        process.terminationHandler = { _ in withExtendedLifetime(self) {} }
    }
}

/// A program that inherits every descriptor which is not closed on exec, and sleeps until it is ended.
package enum Bystander {
    package static func start() throws -> pid_t {
        var process: pid_t = 0
        let arguments = unsafe [strdup("sleep"), strdup("600"), nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        let result = unsafe posix_spawn(&process, "/bin/sleep", nil, nil, arguments, nil)
        guard result == 0 else { throw CallFailed(call: "posix_spawn") }
        return process
    }

    package static func end(_ process: pid_t) {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }
}
