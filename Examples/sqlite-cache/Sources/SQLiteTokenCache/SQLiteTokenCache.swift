// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import GRDB
import Glibc
public import IdentityClient

/// A token cache in a table of an SQLite database, accessed with GRDB.
///
/// Every replace is one statement in its own transaction, so any number of programs may share the file. Stored records
/// survive a crash of the machine. A call waits at most five seconds for another program's write.
public final class SQLiteTokenCache: TokenCache {
    let database: DatabaseQueue
    /// The queue on which calls may wait for the disk and for other programs.
    let queue = DispatchQueue(label: "sqlite-token-cache")

    /// Opens the database, or creates it with access for its owner alone.
    ///
    /// The tokens are stored unencrypted: wrap the cache in an `EncryptedTokenCache` if others may read the file.
    ///
    /// - Throws: GRDB's `DatabaseError`.
    public init(path: String) throws {
        // SQLite would let others read the file. Only the creator of the file opens it before SQLite does: closing it
        // later would end this process's locks.
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.journalMode = .wal  // who reads need not wait for who writes
        database = try DatabaseQueue(path: path, configuration: configuration)
        // In this mode GRDB's default is weaker. A refresh token that was returned must survive a crash of the machine.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try database.inImmediateTransaction { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS token_record (
                        cache_group TEXT NOT NULL,
                        kind TEXT NOT NULL,
                        name TEXT NOT NULL,
                        bytes BLOB NOT NULL,
                        PRIMARY KEY (cache_group, kind, name)
                    ) WITHOUT ROWID
                    """
            )
        }
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.cacheBusy`, `.cacheFull`, `.cachePermissions` or `.cache`; `CancellationError`.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        try await asking { database in
            try database.read { try Self.bytes(at: key, in: $0) }.map { CacheRecord(bytes: [UInt8]($0)) }
        }
    }

    /// Stores `new` under `key` if the stored record is still `expected`.
    ///
    /// - Throws: `.cacheBusy`, `.cacheFull`, `.cachePermissions` or `.cache`; `CancellationError`.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await asking { database in
            try database.inImmediateTransaction { database in
                let place: [any DatabaseValueConvertible] = [key.group.name, key.kind.rawValue, key.name]
                switch (expected.map { Data($0.bytes) }, new.map { Data($0.bytes) }) {
                case (nil, nil):
                    return try Self.bytes(at: key, in: database) == nil
                case (nil, let new?):
                    try database.execute(
                        sql: "INSERT INTO token_record VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        arguments: StatementArguments(place + [new])
                    )
                case (let expected?, let new?):
                    try database.execute(
                        sql: """
                            UPDATE token_record SET bytes = ?
                            WHERE cache_group = ? AND kind = ? AND name = ? AND bytes = ?
                            """,
                        arguments: StatementArguments([new] + place + [expected])
                    )
                case (let expected?, nil):
                    try database.execute(
                        sql: "DELETE FROM token_record WHERE cache_group = ? AND kind = ? AND name = ? AND bytes = ?",
                        arguments: StatementArguments(place + [expected])
                    )
                }
                return database.changesCount == 1
            }
        }
    }

    /// Returns all records of one kind in `group`.
    ///
    /// - Throws: `.cacheBusy`, `.cacheFull`, `.cachePermissions` or `.cache`; `CancellationError`.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await asking { database in
            let rows = try database.read { database in
                try Row.fetchAll(
                    database,
                    sql: "SELECT name, bytes FROM token_record WHERE cache_group = ? AND kind = ?",
                    arguments: [group.name, kind.rawValue]
                )
            }
            var records: [CacheKey: CacheRecord] = [:]
            for row in rows {
                let (name, bytes): (String, Data) = (row["name"], row["bytes"])
                records[CacheKey(group: group, kind: kind, name: name)] = CacheRecord(bytes: [UInt8](bytes))
            }
            return records
        }
    }

    /// Writes a record under an unused name, as far as SQLite allows it, and takes it back.
    ///
    /// - Throws: `.cacheBusy`, `.cacheFull`, `.cachePermissions` or `.cache`; `CancellationError`.
    public func checkWritable(in group: CacheGroup) async throws {
        try await asking { try $0.tryWriting("INSERT INTO token_record VALUES (?, '', '', x'')", [group.name]) }
    }

    private static func bytes(at key: CacheKey, in database: Database) throws -> Data? {
        try Data.fetchOne(
            database,
            sql: "SELECT bytes FROM token_record WHERE cache_group = ? AND kind = ? AND name = ?",
            arguments: [key.group.name, key.kind.rawValue, key.name]
        )
    }
}
