// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityPostgreSQL

/// The errors that a program gets, with a real server.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized, .timeLimit(.minutes(1)))
struct DatabaseProblemTests {
    @Test func printsTheDefinitionOfAMissingTable() async throws {
        let server = try TestServer(withTable: false)
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        let error = try await authenticationError { try await cache.record(for: key) }
        #expect(error.code == .cache && error.message.contains(PostgreSQLTokenCache.Table.standard.definition))
        try server.makeTable()
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func quotesTheNamesOfATable() async throws {
        let server = try TestServer(withTable: false)
        let table = try PostgreSQLTokenCache.Table("to\"kens; DROP x", schema: "My Schema")
        try server.sql("CREATE SCHEMA \"My Schema\"")
        try server.makeTable(table)
        let cache = PostgreSQLTokenCache(connectionString: server.connection, table: table)
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        for name in ["", String(repeating: "x", count: 64), "a\0b"] {
            #expect(throws: AuthenticationError.self) { try PostgreSQLTokenCache.Table(name) }
        }
    }

    @Test(arguments: ["SELECT", "INSERT", "UPDATE", "DELETE"])
    func printsTheRightsThatTheRoleLacks(_ right: String) async throws {
        let server = try TestServer()
        try server.sql("REVOKE \(right) ON identity_record FROM worker")
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        let error = try await authenticationError { try await cache.reserve(1000, for: key) }
        #expect(error.code == .cachePermissions)
        #expect(error.message.contains(PostgreSQLTokenCache.Table.standard.grants(to: "worker")))
        try server.sql(PostgreSQLTokenCache.Table.standard.grants(to: "worker"))
        #expect(try await cache.reserve(1000, for: key) == nil)
        let records = try server.sql("SELECT count(*) FROM identity_record")
        #expect(records.contains(" 0\n"))
    }

    /// Row security and triggers drop a change without an error. The trial finds it before a refresh token is spent.
    @Test(
        arguments: [
            """
            CREATE POLICY a ON identity_record FOR SELECT USING (true);
            CREATE POLICY b ON identity_record FOR INSERT WITH CHECK (true);
            CREATE POLICY c ON identity_record FOR DELETE USING (true);
            ALTER TABLE identity_record ENABLE ROW LEVEL SECURITY;
            """,
            "CREATE TRIGGER d BEFORE UPDATE ON identity_record FOR EACH ROW EXECUTE FUNCTION dropped();",
            "CREATE TRIGGER e BEFORE INSERT ON identity_record FOR EACH ROW EXECUTE FUNCTION dropped();",
        ]
    )
    func findsAServerThatDropsChanges(_ definition: String) async throws {
        let server = try TestServer()
        try server.sql(
            "CREATE FUNCTION dropped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; \(definition)"
        )
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        for _ in 0..<2 {
            let error = try await authenticationError { try await cache.reserve(1000, for: key) }
            #expect(error.code == .cachePermissions && error.message.contains("row security"))
        }
        let checking = try await authenticationError { try await cache.checkWritable(in: key.group) }
        #expect(checking.code == .cachePermissions)
    }

    @Test(arguments: ["08000", "08006", "08007", "40003", "57P01", "25P03"])
    func knowsStatesThatLeaveTheOutcomeOpen(_ state: String) {
        #expect(DatabaseProblem(state: state, role: "worker").mayBeDone)
    }

    @Test(arguments: ["40001", "40P01", "53100", "57014", "42501"])
    func knowsStatesThatCertainlyDidNothing(_ state: String) {
        let problem = DatabaseProblem(state: state, role: "worker")
        #expect(problem == .failed(state, role: "worker") && !problem.mayBeDone)
    }

    @Test func neverRepeatsAPassword() async throws {
        let server = try TestServer()
        let key = try randomKey()
        let wrong = server.connection(user: "worker", password: "hunter2")
        let refused = try await authenticationError {
            try await PostgreSQLTokenCache(connectionString: wrong).record(for: key)
        }
        #expect(refused.code == .cachePermissions && refused.message.contains("28P01"))
        let without = "host=\(server.address) port=\(server.port) user=worker dbname=tokens passfile=/nowhere"
        let asked = try await authenticationError {
            try await PostgreSQLTokenCache(connectionString: without).record(for: key)
        }
        #expect(asked.code == .cachePermissions)
        let malformed = "password='hunter2"
        let unread = try await authenticationError {
            try await PostgreSQLTokenCache(connectionString: malformed).record(for: key)
        }
        #expect(unread.code == .cache)
        for error in [refused, asked, unread] { #expect(!"\(error) \(error.message)".contains("hunter2")) }
    }

    @Test func namesAMissingDatabase() async throws {
        let server = try TestServer()
        let cache = PostgreSQLTokenCache(
            connectionString: server.connection(user: "worker", password: "secret", database: "none")
        )
        let key = try randomKey()
        let error = try await authenticationError { try await cache.record(for: key) }
        #expect(error.code == .cache && error.message.contains("no database named \"none\" (3D000)"))
    }

    @Test func saysThatTheServerIsNotThere() async throws {
        let key = try randomKey()
        let cache = PostgreSQLTokenCache(
            connectionString: "host=127.0.0.1 port=1 user=worker dbname=tokens",
            timeout: .milliseconds(300)
        )
        let error = try await authenticationError { try await cache.record(for: key) }
        #expect(error.code == .cacheBusy && error.message.contains("Connection refused"))
    }

    @Test func saysThatTheServerOnlyReads() async throws {
        let server = try TestServer()
        let cache = PostgreSQLTokenCache(connectionString: server.connection, timeout: .seconds(20))
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        try server.sql("ALTER DATABASE \(server.database) SET default_transaction_read_only = on")
        // The cache waits: a standby may be promoted. What it was told counts, also if its last attempt is cut off.
        let patient = PostgreSQLTokenCache(connectionString: server.connection, timeout: .seconds(3))
        let waited = try await authenticationError { try await patient.record(for: key) }
        #expect(waited.code == .cacheBusy && waited.message.contains("read-only"))
        let another = PostgreSQLTokenCache(
            connectionString: server.connection + " target_session_attrs=any",
            timeout: .seconds(20)
        )
        let error = try await authenticationError { try await another.reserve(100, for: key) }
        #expect(error.code == .cachePermissions && error.message.contains("only reads"))
        #expect(try await cache.replace(CacheRecord("one"), with: nil, for: key))
    }

    @Test func endsWhileAnotherSessionKeepsALock() async throws {
        let server = try TestServer()
        let cache = PostgreSQLTokenCache(connectionString: server.connection, timeout: .seconds(1))
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        let holder = try server.session()
        try holder.execute("BEGIN", until: .now + .seconds(10))
        _ = try holder.query("SELECT name FROM public.identity_record FOR UPDATE", until: .now + .seconds(10))
        let error = try await authenticationError {
            try await cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key)
        }
        #expect(error.code == .cacheBusy && error.message.contains("keeps a lock"))
        let waiting = Task { try await cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key) }
        try await server.waitForProgram("datname = '\(server.database)' AND wait_event_type = 'Lock'")
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        // The statement that is left behind ends by itself, while the lock is still held.
        try await server.waitForProgram("datname = '\(server.database)' AND state = 'idle'")
        try holder.execute("ROLLBACK", until: .now + .seconds(10))
    }

    /// A host that is cut from the network in the middle of a transaction leaves it behind, and rows that no vacuum removes.
    @Test func leavesNoTransactionOpen() async throws {
        let server = try TestServer()
        let parameters = try DatabaseParameters(server.connection)
        let connection = try DatabaseConnection(
            parameters,
            [],
            statementLimit: .milliseconds(200),
            until: .now + .seconds(10)
        )
        try connection.execute("BEGIN", until: .now + .seconds(10))
        _ = Poll.wait(for: [Poll.Awaited(connection.socket)], until: .now + .seconds(10))
        #expect(throws: DatabaseProblem.lost) { try connection.query("SELECT 1", until: .now + .seconds(10)) }
    }

    @Test func takesNoRecordThatIsTooLongAndNoKeyOfAnotherForm() async throws {
        let server = try TestServer()
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        let long = CacheRecord(bytes: [UInt8](repeating: 0, count: 1 << 20 + 65))
        let refused = try await authenticationError { try await cache.replace(nil, with: long, for: key) }
        #expect(refused.code == .invalidArgument)
        for name in ["", "a b", "a\0", "ä", String(repeating: "x", count: 256)] {
            let other = CacheKey(group: key.group, kind: .account, name: name)
            let error = try await authenticationError { try await cache.record(for: other) }
            #expect(error.code == .invalidArgument)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func sendsNothingToAFullDisk() async throws {
        let disk = try TemporaryDirectory()
        try TestServer.command(["mount", "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", disk.path])
        defer { _ = unsafe umount2(disk.path, Int32(MNT_DETACH)) }
        try TestServer.command(["chmod", "755", disk.path])
        try TestServer.command(["chown", "postgres", disk.path])
        let server = try TestServer(withTable: false, own: true)
        try server.sql("CREATE TABLESPACE small LOCATION '\(disk.path)'")
        let table = PostgreSQLTokenCache.Table.standard
        try server.sql(table.definition.dropLast() + " TABLESPACE small;" + table.grants(to: "worker"))
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await cache.reserve(100_000, for: key) == nil)
        let full = try await authenticationError {
            for _ in 0..<4 { _ = try await cache.reserve(1 << 20, for: key) }
        }
        #expect(full.code == .cacheFull && full.message.contains("53100"))
        let long = CacheRecord(bytes: (0..<(1 << 20)).map { _ in UInt8.random(in: .min ... .max) })
        let error = try await authenticationError { try await cache.replace(CacheRecord("one"), with: long, for: key) }
        #expect(error.code == .cacheFull)
        #expect(try await cache.record(for: key) == CacheRecord("one"))
    }
}
