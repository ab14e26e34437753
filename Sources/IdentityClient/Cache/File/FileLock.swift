// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The right to write the records of one stripe, until the value goes out of scope or its process ends.
struct FileLock: ~Copyable {
    private let file: Descriptor

    private init(_ file: consuming Descriptor) {
        self.file = file
    }

    deinit {
        file.unlock()
    }

    /// Takes the lock of `stripe` in `directory`; returns `nil` if another process has it.
    /// - Throws: `.cachePermissions` when the owner, mode or kind of the lock file is wrong.
    static func take(_ stripe: Int, in directory: borrowing Descriptor) throws -> FileLock? {
        let name = FileCacheName.lock(stripe)
        let file = try directory.lockFile(name)
        let status = try file.status()
        try SecureFile.checkLock(status, path: file.path)
        guard try file.tryLock() else { return nil }
        // Another process may have removed the file before it was locked: then the lock is another file by now.
        guard let named = try directory.status(of: name), named.fingerprint.inode == status.fingerprint.inode else {
            return nil
        }
        return FileLock(file)
    }

    /// Makes the number of the lock file odd, for the processes that watch it. The number is already odd if a process
    /// died before ``endChange()``.
    func beginChange() throws {
        guard let number = try file.namedLength() else {
            throw AuthenticationError(.cacheBusy, "\(file.path) was removed while it was in use. Try again.")
        }
        if number.isMultiple(of: 2) { try file.extend(to: number + 1) }
    }

    /// Makes the number even again.
    func endChange() throws {
        guard let number = try file.namedLength(), !number.isMultiple(of: 2) else { return }
        try file.extend(to: number + 1)
    }

    /// Removes the files that dead writers left under this lock. Looks at most every ten minutes.
    ///
    /// Files of these names are created only under the lock. One that waits for its write has a lock of its own, as
    /// long as its writer lives.
    func clearStaleFiles(of stripe: Int, in directory: borrowing Descriptor, now: FileTime) throws {
        let age = try file.status().fingerprint.modified.duration(to: now)
        guard age > .seconds(600) || age < .zero else { return }
        try file.stamp(now)
        for name in try directory.names() where FileCacheName.isTemporary(name, stripe: stripe) {
            guard let status = try directory.status(of: name),
                status.fingerprint.modified.duration(to: now) > .seconds(60),
                let file = try directory.file(name), try file.tryLock()
            else { continue }
            try directory.remove(name)
        }
    }
}

extension FileLock {
    /// Returns the process that holds the lock at `path`, or `nil` if the kernel does not show it.
    static func holder(of path: String) -> Int32? {
        // Only a message depends on this: if anything fails, the holder is unknown.
        guard let status = try? SystemCall.status(of: path, followingLinks: false),
            let proc = try? Descriptor.directory("/proc"),
            let table = try? proc.file("locks")?.read(atMost: 256 << 10)
        else { return nil }
        return holder(ofInode: status.fingerprint.inode, in: String(decoding: table, as: UTF8.self))
    }

    /// Finds the holder in a table such as the kernel's: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:16220613 0 EOF`.
    static func holder(ofInode inode: UInt64, in table: String) -> Int32? {
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
