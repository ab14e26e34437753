// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A temporary directory that only this user can enter. It is locked while the demonstration runs, so that the next
/// demonstration recognizes, and removes, the directory of one that was killed.
struct DemoDirectory {
    let path: String
    private let descriptor: Int32

    private static let prefix = "identity-demo-"

    /// Makes a directory in `$TMPDIR`, or in `/tmp`.
    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        Self.removeStale(in: parent)
        path = "\(parent)/\(Self.prefix)\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        guard let descriptor = Self.lock(path) else {
            throw DemoFailure("The directory \(path) could not be locked. Choose another one with TMPDIR.")
        }
        self.descriptor = descriptor
    }

    /// Removes the directory with everything in it.
    func remove() {
        // Remaining files are harmless: their tokens open nothing, and the next demonstration tries again.
        try? FileManager.default.removeItem(atPath: path)
        close(descriptor)
    }

    private static func removeStale(in parent: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            guard let descriptor = lock(path) else { continue }
            try? FileManager.default.removeItem(atPath: path)  // another demonstration may have been faster
            close(descriptor)
        }
    }

    /// Returns a locked descriptor, or `nil` if another process has the lock or the directory is another user's.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == getuid(),
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
