// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The kernel's table of locks.
package enum LockTable {
    /// Returns the process that holds the lock at `path`, or `nil` if the kernel does not show it.
    package static func holder(of path: String) -> Int32? {
        // Only a message depends on this: if anything fails, the holder is unknown.
        guard let status = try? SystemCall.status(of: path, followingLinks: false),
            let proc = try? Descriptor.directory("/proc"),
            let table = try? proc.file("locks")?.read(atMost: 256 << 10)
        else { return nil }
        return holder(ofInode: status.fingerprint.inode, in: String(decoding: table, as: UTF8.self))
    }

    /// Finds the holder in a table such as the kernel's: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:16220613 0 EOF`.
    package static func holder(ofInode inode: UInt64, in table: String) -> Int32? {
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK", words[5].split(separator: ":").last == "\(inode)",
                let process = Int32(words[4]), process > 0
            else { continue }
            return process
        }
        return nil
    }
}
