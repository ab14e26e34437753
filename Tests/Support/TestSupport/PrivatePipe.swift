// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Foundation
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
