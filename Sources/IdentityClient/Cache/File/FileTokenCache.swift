// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A cache that keeps credentials in files that only their user may read, one file per record, safe between processes.
///
/// The directory and the files are created for the user alone, whatever the umask. A link, another user's file or a
/// file open to others is refused with `.cachePermissions`, which names the file and the remedy. Tokens are not
/// encrypted: every program or backup that may read the user's files may read them.
///
/// A lookup of an unchanged file costs one `fstat` or `lstat` on the caller's thread and nothing else. A lookup of a
/// missing file costs at most four calls, so the directory belongs on a local disk. All other file system calls run on
/// queues of this object, never on the cooperative pool; a cancelled task does not wait for a read that hangs. The
/// files of up to sixteen records that are looked up repeatedly stay open. The next lookup sees every change to a file.
/// If the directory is moved away or mounted over, lookups notice it within a second.
///
/// A write is complete or has no effect, and is on the disk when `replace` returns. A reader takes no lock. A writer
/// waits up to five seconds for another process, then throws `.cacheBusy`; a cancelled task stops waiting.
///
/// ```swift
/// let configuration = PublicClientApplication.Configuration(
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
    let now: @Sendable () -> CoarseTime
    let hints = FileHints()
    /// The files of the next writes.
    let reservedFiles = ReservedFiles<CacheKey>()
    let readers = QueueExecutor("identity-client.file-cache.read", width: 4)
    /// One queue for each lock: within this object, calls that need the same lock run one after the other.
    let writers = (0..<FileCacheName.stripes).map { QueueExecutor("identity-client.file-cache.write-\($0)") }

    /// Creates a cache for a directory. Nothing is read or created before the first use.
    ///
    /// - Parameter directory: The directory for the records. A relative path begins at the current working directory.
    ///   The default is `$XDG_STATE_HOME/swift-identity-client`, or, if that variable is not set,
    ///   `~/.local/state/swift-identity-client`. In a Flatpak and in a strict snap, the default is the program's place
    ///   for persistent data.
    public convenience init(directory: String? = nil) {
        self.init(directory: directory, lockTimeout: .seconds(5))
    }

    /// Creates a cache with custom limits, for tests.
    init(
        directory: String?,
        lockTimeout: Duration,
        memoryLimit: Int = 8 << 20,
        now: @escaping @Sendable () -> CoarseTime = { SystemCall.coarseTime }
    ) {
        root = Mutex(directory.map { FilePath.absolute($0, in: SystemCall.workingDirectory ?? "/") })
        self.lockTimeout = lockTimeout
        self.now = now
        memory = Mutex(FileMemory(limit: memoryLimit))
    }

    /// Returns the directory that contains the groups' directories.
    /// - Throws: `.cache` when the user has no home directory.
    package func directory() throws -> String {
        try root.withLock { root in
            let path = try root ?? StateDirectory.path()
            root = path
            return path
        }
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.cachePermissions` when the owner, mode or kind of a file or directory is wrong, `.cache` when the
    ///   record cannot be read.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        if let record = unchangedRecordToHold(for: key) { return record }
        return try await lookedUpRecord(for: key)
    }

    /// Looks up a record that is not in memory. It is a function of its own so that a hit sets up nothing for it.
    @inline(never)
    private func lookedUpRecord(for key: CacheKey) async throws -> CacheRecord? {
        // Opening the file reports every problem.
        if (try? isAbsent(key)) == true { return nil }
        return try await readers.reading { try self.readRecord(for: key) }
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
        try await readers.reading { try self.readRecords(of: kind, in: group) }
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

extension QueueExecutor {
    /// Runs `work` on the queue unless the task is cancelled, and converts its errors to a cache's errors.
    func doing<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await run(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    /// Runs `work` that changes nothing: a task that is cancelled meanwhile does not wait for a disk that hangs.
    func reading<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await runUnlessCancelled(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }
}
