// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

/// A cache that keeps credentials in files that only their user may read, one file per record, safe between processes.
///
/// The directory and the files are created for the user alone, whatever the umask. A link, another user's file or a
/// file open to others is refused with `.cachePermissions`, which names the file and the remedy. Tokens are not
/// encrypted: every program or backup that may read the user's files may read them.
///
/// A lookup of an unchanged file costs one `lstat` on the caller's thread and nothing else. A lookup of a
/// missing file costs at most four calls, so the directory belongs on a local disk. All other file system calls run on
/// queues of this object, never on the cooperative pool; a cancelled task does not wait for a read that hangs. The
/// next lookup sees every change to a file, and to the directories above it.
///
/// A write is complete or has no effect, and is on the disk when `replace` returns. A reader takes no lock. A writer
/// waits up to five seconds for another process, then throws `.cacheBusy`; a cancelled task stops waiting.
///
/// ```swift
/// let configuration = ClientConfiguration(
///     clientID: clientID,
///     authority: authority,
///     cache: FileTokenCache()
/// )
/// ```
public final class FileTokenCache: TokenCache, CorruptRecordKeeping {
    /// The directory of the groups' directories; `nil` if it is the default and was not needed yet.
    private let root: Mutex<String?>
    let lockTimeout: Duration
    let memory: Mutex<FileMemory>
    let hints = FileHints()
    /// The files of the next writes.
    let reservedFiles = ReservedFiles<CacheKey>()
    let readers = QueueExecutor("identity-client.file-cache.read", width: 4)
    private let readsInPlace = Atomic(false)
    /// One queue for each lock: within this object, calls that need the same lock run one after the other.
    let writers = (0..<FileCacheName.stripes).map { QueueExecutor("identity-client.file-cache.write-\($0)") }

    /// Creates a cache for a directory. Nothing is read or created before the first use.
    ///
    /// - Parameter directory: The directory for the records. A relative path begins at the current working directory; the
    ///   first use refuses one that begins with `~`.
    ///   The default is `$XDG_STATE_HOME/swift-identity-client`, or, if that variable is not set,
    ///   `~/.local/state/swift-identity-client`. In a Flatpak and in a strict snap, the default is the program's place
    ///   for persistent data.
    public convenience init(directory: String? = nil) {
        self.init(directory: directory, lockTimeout: .seconds(5))
    }

    /// Creates a cache with custom limits, for tests.
    init(directory: String?, lockTimeout: Duration, memoryLimit: Int = 8 << 20) {
        root = Mutex(
            directory.map {
                FilePath.isForShell($0) ? $0 : FilePath.absolute($0, in: SystemCall.workingDirectory ?? "/")
            }
        )
        self.lockTimeout = lockTimeout
        memory = Mutex(FileMemory(limit: memoryLimit))
    }

    /// Returns the directory that contains the groups' directories.
    /// - Throws: `.cache` when the user has no home directory, `.invalidArgument` for a path that begins with `~`.
    package func directory() throws -> String {
        try root.withLock { root in
            let path = try root ?? StateDirectory.path()
            if FilePath.isForShell(path) { throw AuthenticationError.pathForShell(path) }
            root = path
            return path
        }
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.cachePermissions` when the owner, mode or kind of a file or directory is wrong, `.cache` when the
    ///   record cannot be read.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        if let record = unchangedRecord(for: key) { return record }
        return try await lookedUpRecord(for: key)
    }

    /// Looks up a record that is not in memory. It is a function of its own so that a hit sets up nothing for it.
    @inline(never)
    private func lookedUpRecord(for key: CacheKey) async throws -> CacheRecord? {
        // Opening the file reports every problem.
        if (try? isAbsent(key)) == true { return nil }
        return try await reading { try self.readRecord(for: key) }
    }

    /// Stores `new` under `key` if the stored record is still `expected`: one atomic write, synced unless it is a
    /// lease.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: `.cacheBusy` when another process holds the lock for five seconds, `.cacheFull` when there is no room,
    ///   `.cachePermissions` when the owner, mode or kind of a file or directory is wrong, `.cache` for another system
    ///   failure, `.invalidArgument` for a record above 1 MiB, `CancellationError`.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        // A record that does not exist can be neither changed nor removed, and neither creates a directory.
        let valueWithoutDirectory: Bool? = expected != nil ? false : new == nil ? true : nil
        return try await write(key, valueWithoutDirectory: valueWithoutDirectory) {
            try $0.replace(expected, with: new)
        }
    }

    /// Returns all records of one kind in `group`, in one sweep of its directory.
    ///
    /// - Throws: The errors of ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await reading { try self.readRecords(of: kind, in: group) }
    }

    /// Writes a file as long as a usual record, under a lock and next to the records, and removes it. The file is not
    /// synced.
    ///
    /// The directory is created if it does not exist. If the process dies, the file is removed like that of an
    /// interrupted write.
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        try await write(CacheKey(group: group, kind: .lease, name: "check")) { try $0.check() }
    }

    /// Opens the file of the next write and takes its space, under the record's lock, which is given back at once. The
    /// next write fills that file, so that a reservation costs no further sync.
    ///
    /// If the process dies, the file is removed like that of an interrupted write.
    /// - Throws: The errors of ``replace(_:with:for:)``. `.cacheFull` also means that the process may not make a file of
    ///   that size (`ulimit -f`).
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        let file = try await write(key) { try $0.reserve(bytes) }
        let writer = writers[FileCacheName.stripe(try FileCacheName.record(key))]
        return reservedFiles.keep(file, for: key, removingOn: writer)
    }

    /// Renames the file of `record` to `<its name>.corrupt-<seconds since 1970>`.
    ///
    /// - Returns: The path of the renamed file.
    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        try await write(key) { try $0.setAside(record) }
    }
}

extension FileTokenCache {
    /// Does `work` with reads on the caller's thread, for a program that has nothing else to do and would have to start a
    /// thread for them. Returns `nil` where the files may be on another computer, and a read may hang.
    package func readingInPlace<Value>(_ work: () async throws -> Value?) async rethrows -> Value? {
        guard let directory = try? Descriptor.directory(directory()), directory.hasLocksOfThisKernel else { return nil }
        readsInPlace.store(true, ordering: .relaxed)
        defer { readsInPlace.store(false, ordering: .relaxed) }
        return try await work()
    }

    func reading<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard readsInPlace.load(ordering: .relaxed) else { return try await readers.reading(work) }
        do {
            return try work()
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }
}

extension QueueExecutor {
    /// Runs `work` on the queue unless the task is cancelled, and converts its errors to a cache's errors.
    package func doing<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await run(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    /// Runs `work` that changes nothing: a task that is cancelled meanwhile does not wait for a disk that hangs.
    package func reading<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await runUnlessCancelled(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }
}

extension FileTokenCache {
    /// Returns the record as it was last read, if its file is still the same. The only system call is `lstat` of its path.
    ///
    /// - Parameter counts: Whether this is a use of the record.
    func unchangedRecord(for key: CacheKey, counts: Bool = true) -> CacheRecord? {
        guard let entry = memory.withLock({ $0.entry(for: key, counts: counts) }), entry.isSettled,
            SystemCall.fingerprint(of: entry.path) == entry.fingerprint
        else { return nil }
        return entry.record
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
            if let record = try unchangedRecord(for: key, counts: false)
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
        memory.withLock { $0.remember(entry, for: key, makesRoom: !isSweep) }
    }

    func forget(_ key: CacheKey) {
        memory.withLock { $0.forget(key) }
    }
}
