// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A new file that is open with its space, and becomes a record with the next write.
///
/// It has the name of a temporary file. Its lock, which the kernel frees with its process, tells the others that its
/// writer lives.
final class ReservedFile: Sendable {
    let name: String
    let file: Descriptor
    private let directory: Descriptor

    /// Creates the file `name` in `directory`, with space for `bytes` bytes.
    init(_ name: String, _ bytes: Int, in directory: borrowing Descriptor) throws(SystemCallError) {
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
    func remove() {
        try? directory.remove(name)
    }
}
