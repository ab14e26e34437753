// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The right to write the records of one stripe, until it goes out of scope or its process ends.
struct FileLock: ~Copyable {
    private let file: Descriptor

    private init(_ file: consuming Descriptor) {
        self.file = file
    }

    deinit {
        file.unlock()
    }

    /// Takes the lock of `stripe` in `directory`, or gives `nil` when someone else has it.
    /// - Throws: `.cachePermissions` when the lock file is not as it must be.
    static func take(_ stripe: Int, in directory: borrowing Descriptor) throws -> FileLock? {
        let name = FileCacheName.lock(stripe)
        let file = try directory.lockFile(name)
        let status = try file.status()
        try SecureFile.check(status, path: file.path)
        guard try file.tryLock() else { return nil }
        // Someone may have removed the file before it was locked: then the lock is another file by now.
        guard let named = try directory.status(of: name), named.fingerprint.inode == status.fingerprint.inode else {
            return nil
        }
        return FileLock(file)
    }

    /// Removes what writers that died left behind under this lock; looks at most every ten minutes.
    ///
    /// Files of these names are written under the lock only, so whoever has it knows that their writers are gone.
    func clearStaleFiles(of stripe: Int, in directory: borrowing Descriptor, now: FileTime) throws {
        let age = try file.status().fingerprint.modified.duration(to: now)
        guard age > .seconds(600) || age < .zero else { return }
        try file.touch()
        for name in try directory.names() where FileCacheName.isTemporary(name, stripe: stripe) {
            guard let status = try directory.status(of: name),
                status.fingerprint.modified.duration(to: now) > .seconds(60)
            else { continue }
            try directory.remove(name)
        }
    }
}
