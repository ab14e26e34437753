// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileTokenCache {
    /// Returns the record as it was last read, if its file is still the same. The only system call is `fstat` of the
    /// open file, or `lstat` of its path. It does not count as a use of the record.
    func unchangedRecord(for key: CacheKey) -> CacheRecord? {
        unchangedEntry(for: key, at: now(), counts: false)?.record
    }

    /// Returns the same as ``unchangedRecord(for:)`` and keeps the file open for the next call.
    func unchangedRecordToHold(for key: CacheKey) -> CacheRecord? {
        let now = now()
        guard let entry = unchangedEntry(for: key, at: now) else { return nil }
        if entry.held == nil { hold(entry, for: key, at: now) }
        return entry.record
    }

    private func unchangedEntry(for key: CacheKey, at now: CoarseTime, counts: Bool = true) -> FileMemory.Entry? {
        guard let entry = memory.withLock({ $0.entry(for: key, counts: counts) }), entry.isSettled else { return nil }
        if let held = entry.held, held.isSure(at: now) { return held.isUnchanged ? entry : nil }
        guard SystemCall.fingerprint(of: entry.path) == entry.fingerprint else { return nil }
        entry.held?.wasFound(at: now)
        return entry
    }

    private func hold(_ entry: FileMemory.Entry, for key: CacheKey, at now: CoarseTime) {
        // Within the clock tick in which it was written, a file could change once more and look the same.
        guard memory.withLock({ $0.mayHold(at: now) }), entry.fingerprint.isSettled(at: SystemCall.now),
            let file = HeldFile(entry.path, entry.fingerprint, foundAt: now)
        else { return }
        memory.withLock { $0.hold(file, with: entry, for: key, at: now) }
    }

    /// Returns whether there is certainly no record: its file does not exist, and owner, mode and kind of the
    /// directories are right.
    func isAbsent(_ key: CacheKey) throws -> Bool {
        let root = try self.directory()
        let directory = "\(root)/\(key.group.name)"
        let file = try "\(directory)/\(FileCacheName.record(key))"
        guard try SystemCall.status(of: file, followingLinks: false) == nil else { return false }
        for path in [root, directory] {
            guard let status = try SystemCall.status(of: path, followingLinks: false) else { return false }
            try SecureFile.checkDirectory(status, path: path)
        }
        forget(key)
        return true
    }

    func readRecord(for key: CacheKey) throws -> CacheRecord? {
        let name = try FileCacheName.record(key)
        guard let directory = try SecureDirectory.open(self.directory(), key.group.name) else {
            forget(key)
            return nil
        }
        return try readRecord(for: key, named: name, in: directory)
    }

    /// Reads a file, or returns the remembered record. If the bytes are equal, returns the same array as before.
    ///
    /// - Parameter isSweep: Whether all records are read. Then remembered records do not make room for the records
    ///   read.
    func readRecord(
        for key: CacheKey,
        named name: String,
        in directory: borrowing Descriptor,
        isSweep: Bool = false
    ) throws -> CacheRecord? {
        // Taken first: later changes must look newer than this.
        let now = SystemCall.now
        guard let file = try directory.file(name) else {
            forget(key)
            return nil
        }
        let status = try file.status()
        try SecureFile.check(status, path: file.path)
        let known = memory.withLock { $0.entry(for: key, counts: !isSweep) }
        if let known, known.isSettled, known.fingerprint == status.fingerprint { return known.record }
        let bytes = try file.read(atMost: Int(status.fingerprint.size))
        let record = known.flatMap { $0.record.bytes == bytes ? $0.record : nil } ?? CacheRecord(bytes: bytes)
        remember(
            record,
            for: key,
            path: file.path,
            fingerprint: status.fingerprint,
            isSettled: status.fingerprint.isSettled(at: now),
            isSweep: isSweep
        )
        return record
    }

    func readRecords(of kind: CacheKey.Kind, in group: CacheGroup) throws -> [CacheKey: CacheRecord] {
        guard let directory = try SecureDirectory.open(self.directory(), group.name) else { return [:] }
        var records: [CacheKey: CacheRecord] = [:]
        for name in try directory.names() {
            guard let key = FileCacheName.key(name, group: group), key.kind == kind else { continue }
            if let record = try unchangedRecord(for: key)
                ?? readRecord(for: key, named: name, in: directory, isSweep: true)
            {
                records[key] = record
            }
        }
        return records
    }

    func remember(
        _ record: CacheRecord,
        for key: CacheKey,
        path: String,
        fingerprint: FileFingerprint,
        isSettled: Bool,
        isSweep: Bool = false
    ) {
        let entry = FileMemory.Entry(path: path, record: record, fingerprint: fingerprint, isSettled: isSettled)
        // The old entry is released after the lock: closing a removed file may take as long as removing it.
        _ = memory.withLock { $0.remember(entry, for: key, makesRoom: !isSweep) }
    }

    func forget(_ key: CacheKey) {
        _ = memory.withLock { $0.forget(key) }
    }
}
