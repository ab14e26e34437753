// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A new file that is open with its space, and becomes a record with the next write.
///
/// It has the name of a temporary file. Its lock, which the kernel frees with its process, tells the others that its
/// writer lives.
package final class ReservedFile: Sendable {
    package let name: String
    package let file: Descriptor
    private let directory: Descriptor

    /// Creates the file `name` in `directory`, with space for `bytes` bytes.
    package init(_ name: String, _ bytes: Int, in directory: borrowing Descriptor) throws(SystemCallError) {
        self.name = name
        // Kept, because removing the file must not need another descriptor.
        self.directory = try directory.duplicate()
        file = try directory.newFile(name)
        do throws(SystemCallError) {
            _ = try file.tryLock()
            try file.allocate(bytes)
        } catch {
            remove()  // The first failure is the one to tell.
            throw error
        }
    }

    /// Removes the file, which no write has used. It goes with the files of dead writers if that fails.
    package func remove() {
        try? directory.remove(name)
    }
}

/// Descriptors that are kept for a write that must not fail for want of one. They are closed with this object.
package final class SpareDescriptors: Sendable {
    private final class Spare: Sendable {
        private let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) {
            self.descriptor = descriptor
        }
    }

    /// As many as a write has open at a time: the directories and locks of a store and of its files, and a record.
    private static let count = 6

    private let spares: [Spare]

    /// - Throws: If this process or the computer has too many files open.
    package init() throws(SystemCallError) {
        guard let root = try Descriptor.unread("/") else { throw SystemCallError("open", "/", number: ENOENT) }
        var spares: [Spare] = []
        while spares.count < Self.count - 1 { spares.append(Spare(try root.duplicate())) }
        spares.append(Spare(root))
        self.spares = spares
    }
}
