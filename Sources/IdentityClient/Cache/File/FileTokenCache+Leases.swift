// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl

// The lock of a lease is that of its own file, so that no other file is left over. The file gets its name when it is
// locked, and every later lease is another file: a lock on a file that lost its name means nothing.
extension FileTokenCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await write(key) { try $0.lockLease(over: expected, with: lease) }
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await readers.reading { try self.findLock(of: lease, for: key) }
    }

    private func findLock(of lease: CacheRecord, for key: CacheKey) throws -> Bool? {
        let name = try FileCacheName.record(key)
        guard let directory = try SecureDirectory.open(self.directory(), key.group.name),
            let file = try directory.file(name)
        else { return false }
        try SecureFile.check(file.status(), path: file.path)
        guard file.hasLocksOfThisKernel else { return nil }
        guard try file.read(atMost: lease.bytes.count + 1) == lease.bytes else { return false }
        // Shared, so that two processes that look at once do not see each other.
        return try !file.tryLock(isShared: true)
    }
}

extension FileWrite {
    func lockLease(over expected: CacheRecord?, with lease: (_ isLocked: Bool) -> CacheRecord) throws -> StoredLease? {
        guard try cache.readRecord(for: key, named: name, in: directory) == expected else { return nil }
        let temporary = FileCacheName.temporary(FileCacheName.stripe(name))
        let file = try directory.newFile(temporary)
        let record: CacheRecord
        let isLocked: Bool
        do {
            // A file system without locks has leases without locks.
            isLocked = file.hasLocksOfThisKernel && (try? file.tryLock()) ?? false
            record = lease(isLocked)
            try file.write(record.bytes)
            try directory.rename(temporary, to: name)
        } catch {
            try? directory.remove(temporary)  // The first failure is the one to tell.
            throw error
        }
        cache.forget(key)
        // After taking a lease, the caller reads the credential. On NFS an open file, and so its `fstat`, may be up to a
        // minute out of date: open it anew.
        cache.forget(key.credential)
        return StoredLease(record, lock: isLocked ? LeaseLock(file) : nil)
    }
}

extension Descriptor {
    /// The file systems that no other kernel shares: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, and overlays of
    /// these.
    ///
    /// - SeeAlso: [statfs(2)](https://man7.org/linux/man-pages/man2/statfs.2.html)
    private static let localKinds: Set<UInt32> = [
        0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994, 0x794c_7630,
    ]

    /// Whether every process that can open this file sees its locks. A network file system may keep the locks of each
    /// machine apart, and a FUSE file system those of each mount.
    var hasLocksOfThisKernel: Bool {
        Self.localKinds.contains(ccurl_file_system_kind(number))
    }
}
