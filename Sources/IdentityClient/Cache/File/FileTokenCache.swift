// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps credentials in files that only their user may read, one file per record, safe between processes.
///
/// The directory and the files are made for the user alone, whatever the umask; what is a link, another user's or open
/// to others is refused with `.cachePermissions`, naming the file and the remedy. Tokens are not encrypted: whoever may
/// read the user's files, a backup included, may read them.
///
/// A lookup whose file has not changed costs one `fstat` or `lstat` on the caller's thread and nothing else, one whose
/// file is not there at most four calls, so the directory belongs on a local disk. All other calls to the file system
/// run on queues of this object, never on the cooperative pool; a cancelled task does not wait for a read that hangs. The files of up to sixteen records that are looked up
/// again and again stay open. Whatever becomes of a file is seen by the next lookup; that its directory was moved away
/// or mounted over, within a second. A write is whole or not at all, and rests on the disk when `replace` returns. A
/// reader takes no lock. A writer waits up to five seconds for another process, then throws `.cacheBusy`; a cancelled
/// task stops waiting.
///
/// ```swift
/// let configuration = PublicClientApplication.Configuration(
///     clientID: clientID,
///     authority: authority,
///     cache: FileTokenCache()
/// )
/// ```
public final class FileTokenCache: TokenCache, CorruptRecordKeeping {
    let location: FileCacheLocation
    let lockTimeout: Duration
    let memory: Mutex<FileMemory>
    let now: @Sendable () -> CoarseTime
    let hints = FileHints()
    let readers = QueueExecutor("identity-client.file-cache.read", width: 4)
    /// One for each lock: in this object, those who need the same lock come one after the other.
    let writers = (0..<FileCacheName.stripes).map { QueueExecutor("identity-client.file-cache.write-\($0)") }

    /// Names the directory; nothing is read or made before the first use.
    ///
    /// - Parameter directory: Where the records rest. A relative path begins at the working directory of now. The
    ///   default is `$XDG_STATE_HOME/swift-identity-client`, or without that
    ///   `~/.local/state/swift-identity-client`; in a Flatpak and in a strict snap the place for what the program keeps.
    public convenience init(directory: String? = nil) {
        self.init(directory: directory, lockTimeout: .seconds(5))
    }

    /// The same with limits of one's own, for tests.
    init(
        directory: String?,
        lockTimeout: Duration,
        memoryLimit: Int = 8 << 20,
        now: @escaping @Sendable () -> CoarseTime = { SystemCall.coarseTime }
    ) {
        location = FileCacheLocation(directory)
        self.lockTimeout = lockTimeout
        self.now = now
        memory = Mutex(FileMemory(limit: memoryLimit))
    }

    /// The record under `key`, or `nil`.
    ///
    /// - Throws: `.cachePermissions` when a file or directory is not as it must be, `.cache` when it cannot be read.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        if let record = unchangedRecordToHold(for: key) { return record }
        return try await lookedUpRecord(for: key)
    }

    /// The way of a lookup that is no hit, apart so that a hit sets up nothing for it.
    @inline(never)
    private func lookedUpRecord(for key: CacheKey) async throws -> CacheRecord? {
        // Whatever is amiss is told by who opens the file.
        if (try? isAbsent(key)) == true { return nil }
        return try await readers.reading { try self.readRecord(for: key) }
    }

    /// Stores `new` under `key` if what is stored is still `expected`: one atomic write, synced unless it is a lease.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: `.cacheBusy` when another process holds the lock for five seconds, `.cacheFull` without room,
    ///   `.cachePermissions` when a file or directory is not as it must be, `.cache` for another failure of the system,
    ///   `.invalidArgument` for a record above 1 MiB, `CancellationError`.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        // What is not there can be neither changed nor removed, and that makes no directory.
        let valueWithoutDirectory: Bool? = expected != nil ? false : new == nil ? true : nil
        return try await write(key, valueWithoutDirectory: valueWithoutDirectory) {
            try $0.replace(expected, with: new)
        }
    }

    /// All records of one kind in `group`, in one sweep of its directory.
    ///
    /// - Throws: As ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await readers.reading { try self.readRecords(of: kind, in: group) }
    }

    /// Writes a file as long as a usual record, under a lock and beside the others, and removes it. Nothing is synced.
    ///
    /// The directory is made where there is none. What a death leaves behind is removed as what it leaves of a write.
    /// - Throws: As ``replace(_:with:for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        try await write(CacheKey(group: group, kind: .lease, name: "check")) { try $0.check() }
    }

    /// Renames the file of `record` to `<its name>.corrupt-<seconds since 1970>`.
    ///
    /// - Returns: The path of the renamed file.
    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        try await write(key) { try $0.setAside(record) }
    }
}

extension QueueExecutor {
    /// Runs `work` on the queue unless the task is cancelled, and tells its failures as a cache does.
    func doing<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await run(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    /// The same for work that changes nothing: a task that is cancelled meanwhile does not wait for a disk that hangs.
    func reading<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await runUnlessCancelled(work)
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }
}
