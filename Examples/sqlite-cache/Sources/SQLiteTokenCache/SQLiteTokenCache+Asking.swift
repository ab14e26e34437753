// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import GRDB
import GRDBSQLite
import IdentityClient

extension SQLiteTokenCache {
    /// Runs work on the database on a queue that may block, and maps its errors.
    func asking<Value: Sendable>(
        _ work: @escaping @Sendable (DatabaseQueue) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await withCheckedThrowingContinuation { continuation in
                queue.async { [database] in continuation.resume(with: Result { try work(database) }) }
            }
        } catch let error as DatabaseError {
            throw Self.explained(error)
        }
    }

    private static func explained(_ error: DatabaseError) -> AuthenticationError {
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            AuthenticationError(
                .cacheBusy,
                "Another program has been writing to the token database for five seconds. Try again.",
                underlyingError: error
            )
        case .SQLITE_FULL:
            AuthenticationError(.cacheFull, "The disk of the token database is full.", underlyingError: error)
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN:
            AuthenticationError(
                .cachePermissions,
                "The token database cannot be opened or written: check who owns it and its directory.",
                underlyingError: error
            )
        default:
            AuthenticationError(
                .cache,
                "The token database failed (SQLite's result \(error.extendedResultCode.rawValue)).",
                underlyingError: error
            )
        }
    }
}

extension DatabaseQueue {
    /// Runs a transaction that takes the write lock first, so that it waits for other writers before it reads anything.
    func inImmediateTransaction<Value>(_ work: (Database) throws -> Value) throws -> Value {
        try writeWithoutTransaction { database in
            var value: Value?
            try database.inTransaction(.immediate) {
                value = try work(database)
                return .commit
            }
            guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
            return value
        }
    }

    /// Checks whether a statement would succeed, and stores nothing.
    func tryWriting(_ sql: String, _ arguments: StatementArguments) throws {
        try writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
                try database.execute(sql: sql, arguments: arguments)
                // SQLite would write to the disk only at the commit, and not notice a full disk earlier.
                let code = sqlite3_db_cacheflush(database.sqliteConnection)
                guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
                return .rollback
            }
        }
    }
}
