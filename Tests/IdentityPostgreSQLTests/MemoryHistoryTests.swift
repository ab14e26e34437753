// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import Testing

@testable import IdentityPostgreSQL

/// A history of a record that rests between its writes, so that three readers take it from memory: how old a read may be.
///
/// The histories of `MultiProcessTests` change their records all the time, and never use this memory.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized, .timeLimit(.minutes(2)))
struct MemoryHistoryTests {
    /// After this time no reader returns an older record, whatever was lost.
    private static let bound = Duration.seconds(6)

    @Test(arguments: [false, true])
    func noReadIsOlderThanItMayBe(_ losesListeners: Bool) async throws {
        let violations = try await history(rounds: 3, losesListeners: losesListeners, dropsNotifications: false)
        #expect(violations == [])
    }

    @Test func aDatabaseThatTellsOfNoChangeIsFound() async throws {
        let violations = try await history(rounds: 1, losesListeners: false, dropsNotifications: true)
        #expect(violations == ["a read is too old", "a read is too old", "a read is too old"])
    }

    /// - Parameters:
    ///   - losesListeners: Whether the connections over which changes are told are lost just before each write.
    private func history(rounds: Int, losesListeners: Bool, dropsNotifications: Bool) async throws -> [String] {
        let server = try TestServer()
        let (writer, key) = (PostgreSQLTokenCache(connectionString: server.connection), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("0"), for: key))
        let readers = try (0..<3).map { _ in
            try Reader(of: key, at: server, dropsNotifications: dropsNotifications)
        }
        var violations: [String] = []
        for round in 1...rounds {
            for reader in readers { try await reader.readUntilMemoryAnswers("\(round - 1)") }
            if losesListeners {
                for reader in readers { try await reader.readUntilListenerIsLost() }
            }
            #expect(try await writer.replace(CacheRecord("\(round - 1)"), with: CacheRecord("\(round)"), for: key))
            let end = ContinuousClock.now + Self.bound
            violations += try await withThrowingTaskGroup(of: String?.self) { group in
                for reader in readers { group.addTask { try await reader.read(until: "\(round)", before: end) } }
                return try await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
            }
        }
        return violations
    }
}

/// A program that reads one record again and again, over a relay of its own.
private final class Reader: Sendable {
    private let cache: PostgreSQLTokenCache
    private let relay: Relay
    private let key: CacheKey
    private let newest = Mutex(0)

    init(of key: CacheKey, at server: TestServer, dropsNotifications: Bool) throws {
        self.key = key
        relay = try Relay(to: #require(UInt16(server.port)), dropsNotifications: dropsNotifications)
        cache = PostgreSQLTokenCache(connectionString: server.connection + " port=\(relay.port) sslmode=disable")
    }

    /// Reads until twenty reads one after the other took no question to the database.
    func readUntilMemoryAnswers(_ value: String) async throws {
        var answers = 0
        while answers < 20 {
            let before = relay.lookupCount
            #expect(try await read() == value)
            answers = relay.lookupCount == before ? answers + 1 : 0
        }
    }

    func readUntilListenerIsLost() async throws {
        let before = relay.count
        relay.lose(.request(having: "SELECT 1"))
        while relay.count == before { _ = try await read() }
    }

    /// Reads until the value is there.
    ///
    /// - Returns: The violation; `nil` for none.
    func read(until value: String, before end: ContinuousClock.Instant) async throws -> String? {
        while true {
            let begin = ContinuousClock.now
            let found = try await read()
            let number = Int(found) ?? -1
            let isOlder = newest.withLock { newest in
                defer { newest = max(newest, number) }
                return number < newest
            }
            if isOlder { return "a read is older than the one before" }
            if found == value { return nil }
            if begin > end { return "a read is too old" }
        }
    }

    /// Reads as often as a program may that answers requests, and not all the time.
    private func read() async throws -> String {
        try await Task.sleep(for: .milliseconds(5))
        return String(decoding: try #require(try await cache.record(for: key)).bytes, as: UTF8.self)
    }
}
