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
}
