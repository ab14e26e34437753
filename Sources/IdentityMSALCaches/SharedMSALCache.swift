// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import OAuthWire
import Synchronization
import SystemSupport

/// A cache in a file that programs with Microsoft's authentication libraries (MSAL) use too.
///
/// The client's accounts of Entra ID in that file are this program's accounts, and the tokens that it obtains are
/// theirs: a person signs in once for all programs with the client ID. A refresh token of Microsoft's own programs
/// (a family) that is in the file serves the client as well. Everything else in the file stays as it is: other
/// clients' entries, other kinds of entries, and members that this library does not know.
///
/// Accounts of AD FS, OpenID Connect and plain OAuth 2.0 servers, whose issuers the file cannot tell apart, and records that are
/// no accounts are kept in a cache of their own beside it; so are the leases that keep programs with this library from refreshing a token twice.
///
/// ```swift
/// let configuration = ClientConfiguration(
///     clientID: clientID,
///     authority: try .entra(.organizations),
///     cache: try SharedMSALCache(.file("/home/alice/.cache/example/tokens.json"), clientID: clientID)
/// )
/// ```
///
/// A lookup in an unchanged file costs one system call on the caller's thread. A changed file is read without the lock,
/// and under it if a program seems to be writing. A write waits up to ten seconds for the other programs' lock file,
/// then throws `.cacheBusy`; a file that cannot be read as a cache throws `.cache` and is never overwritten.
public final class SharedMSALCache: TokenCache {
    /// The last reading. It never changes, so that a hit copies one reference.
    private final class Memory: Sendable {
        let content: MSALFile.Content
        let reading: MSALReading

        init(_ content: MSALFile.Content, _ reading: MSALReading) {
            self.content = content
            self.reading = reading
        }
    }

    private let store: MSALLocation
    private let clientID: ClientID
    private let others: any TokenCache
    private let lockTimeout: Duration
    private let memory = Mutex<Memory?>(nil)
    private let readers = QueueExecutor("identity-client.shared-cache.read", width: 2)
    private let writers = QueueExecutor("identity-client.shared-cache.write")
    private let reservedFiles = ReservedFiles<MSALFile>()

    /// Creates a cache in a file of other programs. Nothing is read or created before the first use.
    ///
    /// - Parameters:
    ///   - location: The file and its lock.
    ///   - clientID: The client whose accounts are found in the file.
    ///   - fallback: The cache for all other records. `nil`, the default, means files of this library in the user's state
    ///     directory, one directory for each shared file.
    /// - Throws: `.cache` when the user has no home directory, `.invalidArgument` for a file whose path begins with `~`.
    public convenience init(_ location: MSALLocation, clientID: ClientID, fallback: (any TokenCache)? = nil) throws {
        try self.init(location, clientID: clientID, fallback: fallback, lockTimeout: .seconds(10))
    }

    /// Creates a cache with custom limits, for tests.
    init(_ store: MSALLocation, clientID: ClientID, fallback: (any TokenCache)?, lockTimeout: Duration) throws {
        if FilePath.isForShell(store.path) { throw AuthenticationError.pathForShell(store.path) }
        self.store = store
        self.clientID = clientID
        self.lockTimeout = lockTimeout
        if let fallback {
            self.others = fallback
        } else {
            let name = Digest.hexadecimal(of: ["shared", store.file.path]).prefix(32)
            self.others = FileTokenCache(directory: try StateDirectory.path() + "/shared/\(name)")
        }
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.cache` when the file is not a cache, `.cachePermissions` when its owner, mode or kind is wrong.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard key.kind == .account, let known = unchanged() else { return try await lookedUpRecord(for: key) }
        if let record = known.reading.records[key.name] { return record }
        // What an unchanged file does not have is beside it.
        return try await others.record(for: key)
    }

    /// Looks up a record that is not in memory. It is a function of its own so that a hit sets up nothing for it.
    @inline(never)
    private func lookedUpRecord(for key: CacheKey) async throws -> CacheRecord? {
        if key.kind == .account, let record = try await read().reading.records[key.name] { return record }
        return try await others.record(for: key)
    }

    /// Stores `new` under `key` if the stored record is still `expected`, under the other programs' lock.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: `.cacheBusy` when another program holds the lock for ten seconds, `.cache` when the file is not a cache
    ///   or is only read, `.cachePermissions` when its owner, mode or kind is wrong, `.cacheFull`, `CancellationError`.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        guard key.kind == .account else { return try await others.replace(expected, with: new, for: key) }
        let credentials = new.flatMap { AccountCredentials(shareable: $0, for: key) }
        if credentials == nil {
            // A record in another form, or a removal of what the file does not have.
            guard new == nil, try await read().reading.records[key.name] != nil else {
                return try await others.replace(expected, with: new, for: key)
            }
        }
        return try await underLock { lock, content in
            let reading = self.remember(content).reading
            guard let blob = try reading.replacing(expected, with: credentials, under: key.name) else { return false }
            if blob != content.blob {
                let reserved = self.reservedFiles.take(for: self.store.file)
                self.remember(try self.store.file.write(blob, under: lock, reserved: reserved))
            }
            return true
        }
    }

    /// Returns all records of one kind: of accounts, those in the file and those beside it.
    ///
    /// - Throws: The errors of ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        let beside = try await others.records(of: kind, in: group)
        guard kind == .account else { return beside }
        var records = beside
        for (name, record) in try await read().reading.records {
            records[CacheKey(group: group, kind: kind, name: name)] = record
        }
        return records
    }

    /// Takes the lock and gives it back, and reads the file.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        try await underLock { _, content in
            try content.blob.checkMayBeWritten()
            self.remember(content)
        }
        try await others.checkWritable(in: group)
    }

    /// Takes the lock and gives it back, and meanwhile opens the next content of the file and takes its space.
    ///
    /// A file that is only read reserves nothing: its programs keep its refresh tokens.
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        guard key.kind == .account, try await read().reading.records[key.name] != nil else {
            return try await others.reserve(bytes, for: key)
        }
        guard store.isWritable else { return nil }
        let file = try await underLock { _, content in
            try content.blob.checkMayBeWritten()
            self.remember(content)
            return try self.store.file.reserve(bytes, beside: content)
        }
        return reservedFiles.keep(file, for: store.file, removingOn: writers)
    }
}

// Leases, which are beside the file.
extension SharedMSALCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await others.storeLease(over: expected, with: lease, for: key)
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await others.findLeaseLock(lease, for: key)
    }
}

// Reading the file, and waiting for its lock.
extension SharedMSALCache {
    private func unchanged() -> Memory? {
        guard let known = memory.withLock({ $0 }), known.content.isSettled else { return nil }
        guard let fingerprint = known.content.fingerprint else { return isAbsent ? known : nil }
        return SystemCall.fingerprint(of: store.file.path) == fingerprint ? known : nil
    }

    private var isAbsent: Bool {
        do { return try SystemCall.status(of: store.file.path, followingLinks: false) == nil } catch { return false }
    }

    private func read() async throws -> Memory {
        if let known = unchanged() { return known }
        var pause = Duration.milliseconds(5)
        // A program that writes in place is done within milliseconds. One that died has left a file that stays so.
        for _ in 0..<5 {
            if let content = try await readers.reading({ try self.store.file.read() }) { return remember(content) }
            try await Task.sleep(for: pause)
            pause *= 2
        }
        guard store.isWritable else {
            return try await readers.reading { self.remember(try self.store.file.readFinished()) }
        }
        return try await waiting { try self.locked { _, content in self.remember(content) } }
    }

    @discardableResult
    private func remember(_ content: MSALFile.Content) -> Memory {
        let old = memory.withLock { $0 }
        let new = Memory(content, MSALReading(content.blob, of: clientID, after: old?.reading))
        memory.withLock { $0 = new }
        return new
    }

    private func underLock<Value: Sendable>(
        _ work: @escaping @Sendable (borrowing MSALLock, MSALFile.Content) throws -> Value
    ) async throws -> Value {
        guard store.isWritable else {
            throw AuthenticationError(
                .cache,
                "\(store.file.path) is only read, because its programs do not share a lock. Choose another cache."
            )
        }
        return try await waiting { try self.locked(work) }
    }

    private func locked<Value>(_ work: (borrowing MSALLock, MSALFile.Content) throws -> Value) throws -> Value? {
        try store.file.createDirectories()
        guard let lock = try MSALLock.take(store.file.lockPath) else { return nil }
        return try work(lock, try store.file.readFinished())
    }

    private func waiting<Value: Sendable>(_ attempt: @escaping @Sendable () throws -> Value?) async throws -> Value {
        try await MSALLock.waiting(for: store.file.lockPath, within: lockTimeout, on: writers, attempt)
    }
}
