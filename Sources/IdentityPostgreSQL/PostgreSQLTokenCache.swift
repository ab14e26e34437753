// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import OAuthWire

/// A token cache in a table of PostgreSQL, for programs on several hosts that share sign-ins.
///
/// ```swift
/// let cache = PostgreSQLTokenCache(connectionString: "host=db1,db2 dbname=tokens sslrootcert=/etc/ssl/certs/db.pem")
/// print(PostgreSQLTokenCache.Table.standard.definition)  // create the table once
/// ```
///
/// The database reads the tokens, as do its administrators and its backups: put an `EncryptedTokenCache` around this
/// cache if they must not. libpq (`libpq.so.5`) is loaded when the cache is first used. It opens the connections as its
/// connection string, the `PG*` variables, `~/.pgpass` and a service file say. If none of them has an `sslmode`, it is
/// `verify-full` for each server but sockets and literal loopback addresses; libpq before version 16 then needs an
/// `sslrootcert`. `target_session_attrs` is `read-write` unless the string says otherwise, and a server that only reads is
/// refused, as is a pooler that gives each transaction another session.
///
/// A record that is read again after a second is kept in memory, and the database tells of its changes (`LISTEN` and
/// `NOTIFY`): a lookup then takes no network. A change by another host is seen within milliseconds, at the latest after
/// six seconds, and a change that is not told, for example by an administrator's `DELETE`, after 30 s. The reads and
/// writes of a refresh always ask the database. While the database cannot be reached, a record that was read in the
/// last five minutes is still returned, so that access tokens which are still good can be used; no refresh token is
/// sent then.
///
/// A call uses a thread of the cache, never one of the cooperative pool.
///
/// - SeeAlso: the chapters *libpq - C Library* and *NOTIFY* of PostgreSQL's documentation.
public final class PostgreSQLTokenCache: TokenCache {
    /// The longest content of a record: what `EncryptedTokenCache` makes of 1 MiB.
    static let recordLimit = (1 << 20) + 64
    /// The longest answer to a listing, in bytes.
    private static let listingLimit = 256 << 20

    private let table: Table
    private let pool: ConnectionPool
    private let memory = RecordMemory()
    private let listener: ChangeListener

    /// Creates a cache. It connects when it is first used.
    ///
    /// - Parameters:
    ///   - connectionString: libpq's connection string, for example `host=db dbname=tokens sslrootcert=ca.pem` or a
    ///     `postgresql:` address. libpq's variables and files give the rest. Keep a password in `~/.pgpass` instead.
    ///   - table: The table of the records, which exists already.
    ///   - timeout: The longest time of a call, 5 s by default and at least 0.1 s. It includes the wait for a server
    ///     that restarts.
    ///   - connections: The most connections for calls, 2 by default, at least 1. One more hears of changes. Unused
    ///     connections are closed after a minute.
    public init(
        connectionString: String,
        table: Table = .standard,
        timeout: Duration = .seconds(5),
        connections: Int = 2
    ) {
        self.table = table
        let timeout = min(max(timeout, .milliseconds(100)), .seconds(3600))
        pool = ConnectionPool(connectionString, width: min(max(connections, 1), 64), timeout: timeout)
        listener = ChangeListener(pool, memory, table)
    }

    /// Returns a cache in the database that libpq's variables (`PGHOST`, `PGDATABASE`, `PGSERVICE` …) and files name.
    ///
    /// The parameters are those of ``init(connectionString:table:timeout:connections:)``.
    public static func environment(
        table: Table = .standard,
        timeout: Duration = .seconds(5),
        connections: Int = 2
    ) -> PostgreSQLTokenCache {
        PostgreSQLTokenCache(connectionString: "", table: table, timeout: timeout, connections: connections)
    }

    deinit {
        listener.end()
    }

    /// Returns the record under `key`, or `nil`. From memory it takes no thread and no network, otherwise one question
    /// to the database.
    ///
    /// - Throws: `.cacheBusy` if the database cannot be reached or does not answer in time, `.cachePermissions` if it
    ///   refuses the role, `.cache` for a missing library, database or table, a server that is not trusted, or a pooler
    ///   that swaps sessions; the message says how to mend it. `CancellationError`.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        let knowledge = memory.knowledge(of: key)
        if case .current(let record) = knowledge { return record }
        return try await read(key, knowledge)
    }

    @inline(never)
    private func read(_ key: CacheKey, _ knowledge: RecordMemory.Knowledge) async throws -> CacheRecord? {
        try Self.check(key)
        var old: CacheRecord?
        if case .old(let record) = knowledge {
            listener.listen(to: key.group)
            // The listener notices when the database is back.
            if pool.isDown { return record }
            old = record
        }
        let access = memory.begin(key)
        do {
            let stored = try await asking { [table] connection, deadline, _ in
                try Self.stored(key, in: table, by: connection, until: deadline)
            }
            if key.kind == .lease { memory.note(lease: key, isThere: stored != nil) }
            return memory.end(access, stored)
        } catch {
            if let old, pool.isDown, error is AuthenticationError {
                memory.keep(access)
                return old
            }
            memory.end(access, nil)
            throw error
        }
    }

    /// Stores `new` if the stored record is still `expected`, in one statement.
    ///
    /// If the connection is lost meanwhile, the statement is sent again on another: the record says by the identifier
    /// of its write whether the first one was done. A cancelled caller does not learn whether the write was done.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``; `.cacheFull` if the server's disk is full, `.invalidArgument` for a record above
    ///   1 MiB.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try Self.check(key)
        guard new?.bytes.count ?? 0 <= Self.recordLimit else {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this one has \(new?.bytes.count ?? 0) bytes."
            )
        }
        if key.kind == .lease { memory.note(lease: key, isThere: true) }
        let change = RecordChange(key, from: expected, to: new, in: table)
        let access = memory.begin(key)
        do {
            let isReplaced = try await asking { try change.make(by: $0, until: $1, isUnsure: $2) }
            let stored = new.map { RecordMemory.Stored(record: $0, write: change.write) }
            memory.end(access, isReplaced ? stored : nil)
            if key.kind == .lease { memory.note(lease: key, isThere: !isReplaced || new != nil) }
            // Its notification may come before this program listens.
            if isReplaced { listener.announce(key) }
            return isReplaced
        } catch {
            memory.end(access, nil)
            throw error
        }
    }

    /// Returns all records of one kind in `group`, in one statement; at most 256 MiB.
    ///
    /// - Throws: As ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await asking { [table] connection, deadline, _ in
            let rows = try connection.query(
                table.list,
                [.text(group.name), .text(kind.rawValue)],
                limit: Self.listingLimit,
                until: deadline
            )
            var records: [CacheKey: CacheRecord] = [:]
            for row in rows {
                guard row.count == 2, let name = row[0].flatMap({ String(validating: $0, as: UTF8.self) }),
                    let content = row[1]
                else { throw DatabaseProblem.nonsense }
                records[CacheKey(group: group, kind: kind, name: name)] = try Self.record(content)
            }
            return records
        }
    }

    /// Returns the keys in `group` that change from now on, on any host, by the notifications of the database. After a
    /// lost connection, keys are returned as well because anything may have changed. A reader that falls behind gets
    /// the newest 64.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        listener.stream(of: group)
    }

    /// Writes a record under a name of its own, changes it and rolls that back.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        try await tryWriting(64, in: group, .account)
    }

    /// Writes a record of that size under a name of its own, changes it and rolls that back: the database is reached, the
    /// role may write, and its disk has room. Nothing is kept reserved.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        try await tryWriting(min(max(bytes, 64), Self.recordLimit), in: key.group, key.kind)
        return nil
    }
}

extension PostgreSQLTokenCache {
    private func asking<Value: Sendable>(
        _ work: @escaping @Sendable (DatabaseConnection, SuspendingClock.Instant, _ isUnsure: Bool) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.run(work)
        } catch let problem as DatabaseProblem {
            throw problem.error(for: table)
        }
    }

    private func tryWriting(_ count: Int, in group: CacheGroup, _ kind: CacheKey.Kind) async throws {
        try await asking { [table] connection, deadline, _ in
            try connection.execute("BEGIN", until: deadline)
            // Random, because the server would compress anything else.
            let (write, content) = (SecureRandom.bytes(16), SecureRandom.bytes(count))
            let name = "trial-\(UInt64.random(in: .min ... .max))"
            let place: [DatabaseConnection.Value] = [.text(group.name), .text(kind.rawValue), .text(name)]
            do {
                let trials: [(String, DatabaseConnection.Value)] = [
                    (table.trial, .bytes(content)), (table.secondTrial, .identifier(write)),
                ]
                for (statement, value) in trials {
                    let rows = try connection.query(statement, place + [value], until: deadline)
                    guard rows.count == 1 else { throw DatabaseProblem.ignored }
                }
            } catch let problem as DatabaseProblem {
                switch problem {
                case .failed, .ignored: try connection.execute("ROLLBACK", until: deadline)
                default: break
                }
                throw problem
            }
            try connection.execute("ROLLBACK", until: deadline)
        }
    }

    fileprivate static func stored(
        _ key: CacheKey,
        in table: Table,
        by connection: DatabaseConnection,
        until deadline: SuspendingClock.Instant
    ) throws -> RecordMemory.Stored? {
        let rows = try connection.query(table.read, RecordChange.place(of: key), until: deadline)
        guard let row = rows.first else { return nil }
        guard rows.count == 1, row.count == 2, let content = row[0], let write = row[1] else {
            throw DatabaseProblem.nonsense
        }
        return RecordMemory.Stored(record: try record(content), write: write)
    }

    private static func record(_ content: [UInt8]) throws -> CacheRecord {
        guard content.count <= recordLimit else { throw DatabaseProblem.tooLarge }
        return CacheRecord(bytes: content)
    }

    /// Whether a key has the form of the library's keys: short words of printable ASCII.
    static func isStorable(_ key: CacheKey) -> Bool {
        [key.group.name, key.kind.rawValue, key.name].allSatisfy { part in
            (1...255).contains(part.utf8.count) && part.utf8.areVisible
        }
    }

    private static func check(_ key: CacheKey) throws {
        guard isStorable(key) else {
            throw AuthenticationError(
                .invalidArgument,
                "Each part of a cache key has 1 to 255 printable ASCII characters and no space."
            )
        }
    }
}

/// One compare-and-replace: its statement, and the identifier by which its outcome is found if the answer is lost.
private struct RecordChange: Sendable {
    let write = SecureRandom.bytes(16)
    private let key: CacheKey
    private let expected: CacheRecord?
    private let new: CacheRecord?
    private let table: PostgreSQLTokenCache.Table

    init(_ key: CacheKey, from expected: CacheRecord?, to new: CacheRecord?, in table: PostgreSQLTokenCache.Table) {
        self.key = key
        self.expected = expected
        self.new = new
        self.table = table
    }

    static func place(of key: CacheKey) -> [DatabaseConnection.Value] {
        [.text(key.group.name), .text(key.kind.rawValue), .text(key.name)]
    }

    /// - Parameter isUnsure: Whether this change was sent before, over a connection that was lost then.
    func make(by connection: DatabaseConnection, until deadline: SuspendingClock.Instant, isUnsure: Bool) throws -> Bool
    {
        guard let (statement, contents) = statement else {
            return try PostgreSQLTokenCache.stored(key, in: table, by: connection, until: deadline) == nil
        }
        let told: [DatabaseConnection.Value] = [
            .text(table.channel(of: key.group)), .text(Told.text(key, write: new == nil ? nil : write)),
        ]
        let warnings = connection.warnings
        let rows = try connection.query(statement, Self.place(of: key) + told + contents, until: deadline)
        guard rows.count <= 1 else { throw DatabaseProblem.nonsense }
        if connection.warnings != warnings { throw DatabaseProblem.unconfirmed }
        if rows.count == 1 || !isUnsure { return rows.count == 1 }
        let stored = try PostgreSQLTokenCache.stored(key, in: table, by: connection, until: deadline)
        return new == nil ? stored == nil : stored?.write == write
    }

    /// The statement and its values after place and notification; `nil` if nothing changes.
    private var statement: (String, [DatabaseConnection.Value])? {
        switch (expected?.bytes, new?.bytes) {
        case (nil, nil): nil
        case (nil, let new?): (table.insert, [.identifier(write), .bytes(new)])
        case (let expected?, let new?): (table.update, [.identifier(write), .bytes(new), .bytes(expected)])
        case (let expected?, nil): (table.delete, [.bytes(expected)])
        }
    }
}
