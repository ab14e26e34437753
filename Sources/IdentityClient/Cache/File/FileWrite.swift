// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A change of one record's file while its lock is held.
struct FileWrite: ~Copyable {
    let cache: FileTokenCache
    let key: CacheKey
    let name: String
    let directory: Descriptor
    private let lock: FileLock

    init(cache: FileTokenCache, key: CacheKey, name: String, directory: consuming Descriptor, lock: consuming FileLock)
    {
        self.cache = cache
        self.key = key
        self.name = name
        self.directory = directory
        self.lock = lock
    }

    /// As much as a record with some access tokens and ID tokens takes.
    static let usualSize = 16 << 10

    /// A lease is worth nothing after a crash, so it need not survive one.
    private var isDurable: Bool { key.kind != .lease }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?) throws -> Bool {
        guard try cache.readRecord(for: key, named: name, in: directory) == expected else { return false }
        if let new {
            try put(new)
            // After taking a lease, the caller reads the credential. On NFS an open file, and so its `fstat`, may be up
            // to a minute out of date: open it anew.
            if key.kind == .lease { cache.forget(key.credential) }
        } else if expected != nil {
            try directory.remove(name)
            cache.forget(key)
            if isDurable { try directory.synchronize() }
        }
        return true
    }

    private func put(_ record: CacheRecord) throws {
        guard record.bytes.count <= SecureFile.sizeLimit else {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this one has \(record.bytes.count) bytes."
            )
        }
        let written = try directory.replace(
            name,
            with: record.bytes,
            through: FileCacheName.temporary(FileCacheName.stripe(name)),
            reserved: cache.reservedFiles.take(for: key),
            stamp: SystemCall.now,
            isDurable: isDurable
        )
        cache.remember(
            record,
            for: key,
            path: "\(directory.path)/\(name)",
            fingerprint: written.fingerprint,
            isSettled: written.isSettled
        )
        if isDurable { try directory.synchronize() }
    }

    /// Opens the file of a later write, with space for `bytes` bytes.
    func reserve(_ bytes: Int) throws -> ReservedFile {
        let size = min(max(bytes, 1), SecureFile.sizeLimit)
        return try ReservedFile(FileCacheName.temporary(FileCacheName.stripe(name)), size, in: directory)
    }

    /// Writes a file and removes it at once. Space on the disk and in the quota is taken by the write, not by the sync.
    func check() throws {
        let temporary = FileCacheName.temporary(FileCacheName.stripe(name))
        let file = try directory.newFile(temporary)
        defer { try? directory.remove(temporary) }  // Else it goes with what dead writers have left.
        try file.write([UInt8](repeating: 0, count: Self.usualSize))
    }

    func setAside(_ record: CacheRecord) throws -> String {
        guard try cache.readRecord(for: key, named: name, in: directory) == record else {
            throw AuthenticationError(.cacheBusy, "\(directory.path)/\(name) was changed meanwhile. Read it again.")
        }
        let stem = "\(name).corrupt-\(SystemCall.now.nanoseconds / 1_000_000_000)"
        var aside = stem
        var number = 1
        while try directory.status(of: aside) != nil {
            number += 1
            aside = "\(stem)-\(number)"
        }
        try directory.rename(name, to: aside)
        cache.forget(key)
        try directory.synchronize()
        return "\(directory.path)/\(aside)"
    }
}
