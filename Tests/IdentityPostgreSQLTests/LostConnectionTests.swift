// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import Testing

@testable import IdentityPostgreSQL

/// Connections that are lost at the worst time, servers that end, and programs that go on.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized, .timeLimit(.minutes(1)))
struct LostConnectionTests {
    private let one = CacheRecord("one")
    private let two = CacheRecord("two")

    private final class Kills: Sendable {
        let count = Mutex(0)
    }

    /// Before the change, the change, and the record afterwards.
    static let changes: [(CacheRecord?, CacheRecord?, statement: String)] = [
        (nil, CacheRecord("new"), "INSERT INTO"), (CacheRecord("old"), CacheRecord("new"), "UPDATE "),
        (CacheRecord("old"), nil, "DELETE FROM"),
    ]

    @Test(arguments: changes, [true, false])
    func tellsTheOutcomeOfAWriteWhoseConnectionWasLost(
        _ change: (old: CacheRecord?, new: CacheRecord?, statement: String),
        _ isDone: Bool
    ) async throws {
        let server = try TestServer()
        let relay = try Relay(to: #require(UInt16(server.port)))
        let cache = PostgreSQLTokenCache(connectionString: server.connection + " port=\(relay.port)")
        let key = try randomKey()
        if change.old != nil { #expect(try await cache.replace(nil, with: change.old, for: key)) }
        relay.lose(isDone ? .answer(afterRequestHaving: change.statement) : .request(having: change.statement))
        #expect(try await cache.replace(change.old, with: change.new, for: key))
        #expect(relay.count == 1)
        #expect(try await PostgreSQLTokenCache(connectionString: server.connection).record(for: key) == change.new)
    }

    @Test func doesNotTakeAnothersEqualRecordForItsOwn() async throws {
        let server = try TestServer()
        let relay = try Relay(to: #require(UInt16(server.port)))
        let cache = PostgreSQLTokenCache(connectionString: server.connection + " port=\(relay.port)")
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await PostgreSQLTokenCache(connectionString: server.connection).replace(one, with: two, for: key))
        relay.lose(.request(having: "UPDATE "))
        #expect(try await !cache.replace(one, with: two, for: key))
        #expect(relay.count == 1)
    }

    @Test func countsEveryIncrementWhileConnectionsAreLost() async throws {
        let server = try TestServer()
        let caches = (0..<4).map { _ in PostgreSQLTokenCache(connectionString: server.connection, timeout: .seconds(20))
        }
        let key = try randomKey()
        #expect(try await caches[0].replace(nil, with: CacheRecord("0"), for: key))
        let kills = Kills()
        let killing = Task {
            while !Task.isCancelled {
                try server.sql(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE usename = 'worker' AND datname = '\(server.database)'
                    """
                )
                kills.count.withLock { $0 += 1 }
            }
        }
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for cache in caches {
                group.addTask {
                    var count = 0
                    while count < 100 || kills.count.withLock(\.self) < 4 {
                        count += 1
                        while true {
                            let record = try await cache.record(for: key)
                            let number = Int(String(decoding: record?.bytes ?? [], as: UTF8.self)) ?? 0
                            if try await cache.replace(record, with: CacheRecord("\(number + 1)"), for: key) { break }
                        }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        killing.cancel()
        try await killing.value
        #expect(try await caches[0].record(for: key) == CacheRecord("\(total)"))
    }

    @Test func goesOnWhenTheServerWasRestarted() async throws {
        let server = try TestServer(own: true)
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        let hints = try #require(cache.changes(in: key.group))
        try await hearsOfAnothersChange(hints, in: key.group, of: server)
        try server.restart()
        #expect(try await cache.replace(one, with: two, for: key))
        try await hearsOfAnothersChange(hints, in: key.group, of: server)
    }

    /// Waits for the hints that anything may have changed, which come first, and then for that of a change elsewhere.
    private func hearsOfAnothersChange(
        _ hints: AsyncStream<CacheKey>,
        in group: CacheGroup,
        of server: TestServer
    ) async throws {
        let other = CacheKey(group: group, kind: .account, name: try randomKey().name)
        let anything = String(repeating: "0", count: 64)
        for await hint in hints {
            if hint == other { return }
            guard hint == CacheKey(group: group, kind: .account, name: anything) else { continue }
            #expect(
                try await PostgreSQLTokenCache(connectionString: server.connection).replace(nil, with: one, for: other)
            )
        }
    }

    @Test func givesWhatItHasReadWhileTheServerIsAway() async throws {
        let server = try TestServer(own: true)
        let cache = PostgreSQLTokenCache(connectionString: server.connection, timeout: .milliseconds(400))
        let (key, other) = (try randomKey(), try randomKey())
        let lease = CacheKey(group: key.group, kind: .lease, name: key.name)
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await cache.record(for: key) == one)
        try server.stop()
        for _ in 0..<3 { #expect(try await cache.record(for: key) == one) }
        // Nothing that a refresh needs comes from memory.
        for key in [lease, other, key] {
            let error = try await authenticationError { try await cache.record(for: key) }
            #expect(error.code == .cacheBusy)
            if key == lease {
                let taking = try await authenticationError { try await cache.replace(nil, with: two, for: lease) }
                #expect(taking.code == .cacheBusy)
            }
        }
    }

    @Test func endsInTimeWhenTheServerStandsStill() async throws {
        let server = try TestServer(own: true)
        let cache = PostgreSQLTokenCache(connectionString: server.connection, timeout: .seconds(1))
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        try server.signal("STOP")
        let begin = ContinuousClock.now
        let error = try await authenticationError { try await cache.replace(one, with: two, for: key) }
        #expect(error.code == .cacheBusy && begin.duration(to: .now) < .seconds(5))
        try server.signal("CONT")
        let stored = try await cache.record(for: key)
        #expect(stored == one || stored == two)
    }

    @Test func takesTheNextServerIfTheFirstOneDoesNotAnswer() async throws {
        let (silent, server) = (try TestServer(own: true), try TestServer())
        try silent.signal("STOP")
        let connection =
            "host=127.0.0.1,127.0.0.1 port=\(silent.port),\(server.port) user=worker password=secret "
            + "dbname=\(server.database)"
        let cache = PostgreSQLTokenCache(connectionString: connection, timeout: .seconds(2))
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        // The server that was reached last is tried first.
        let begin = ContinuousClock.now
        #expect(try await PostgreSQLTokenCache(connectionString: server.connection).record(for: key) == one)
        #expect(try await cache.record(for: key) == one)
        #expect(begin.duration(to: .now) < .seconds(1))
    }

    /// Also if the role says that its statements do not wait.
    @Test(arguments: ["local", "off"])
    func doesNotBelieveAWriteThatItsStandbyMayLack(_ commit: String) async throws {
        let server = try TestServer(own: true)
        try server.sql("ALTER ROLE worker SET synchronous_commit = \(commit)")
        try server.sql("ALTER SYSTEM SET synchronous_standby_names = 'none'")
        try server.sql("SET synchronous_commit = local; SELECT pg_reload_conf()")
        let cache = PostgreSQLTokenCache(connectionString: server.connection)
        let key = try randomKey()
        let writing = Task { [one] in
            try await authenticationError { try await cache.replace(nil, with: one, for: key) }
        }
        // The server waits for a standby that is not there, until an administrator ends the wait.
        try await server.waitForProgram("wait_event = 'SyncRep'")
        try server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        let error = try await writing.value
        #expect(error.code == .cacheBusy && error.message.contains("standby"))
        #expect(try await cache.record(for: key) == one)
    }
}
