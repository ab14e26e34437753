// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import Testing

@testable import IdentityPostgreSQL

/// The script that starts servers, set by `Scripts/test-postgresql`. Without it, tests with a server are skipped.
let clusterScript = ProcessInfo.processInfo.environment["IDENTITY_POSTGRESQL_TESTS"].map { "\($0)/cluster" }

/// A database with the table of records for one test, on a server that tests share or on one of its own, which ends
/// with this object.
final class TestServer: Sendable {
    struct Failed: Error {
        let command: String
        let output: String
    }

    let directory: String
    /// The address, the port and the database.
    let address, port, database: String
    private let isOwn: Bool

    /// - Parameters:
    ///   - isOwn: Whether the server is the test's own, which it may stop.
    ///   - place: Address, port and network namespace of an own server.
    init(withTable: Bool = true, own isOwn: Bool = false, at place: [String] = []) throws {
        let shared = ProcessInfo.processInfo.environment["IDENTITY_POSTGRESQL_SERVER"]
        if !isOwn, let shared {
            (directory, self.isOwn) = (shared, false)
            database = "test_\(UInt64.random(in: .min ... .max))"
            (address, port) = try Self.place(in: directory)
            try Self.run(["database", directory, database])
        } else {
            (directory, self.isOwn) = ("/tmp/identity-postgresql-\(UUID().uuidString)", true)
            database = "tokens"
            do {
                try Self.run(["start", directory] + place)
                (address, port) = try Self.place(in: directory)
            } catch {
                _ = try? Self.run(["stop", directory])
                throw error
            }
        }
        if withTable { try makeTable() }
    }

    /// Starts a synchronous standby of another server.
    init(standbyOf primary: TestServer, at place: [String]) throws {
        directory = "/tmp/identity-postgresql-\(UUID().uuidString)"
        (database, isOwn) = (primary.database, true)
        try Self.run(["standby", directory, primary.directory] + place)
        (address, port) = try Self.place(in: directory)
    }

    deinit {
        guard isOwn else { return }
        _ = try? Self.run(["stop", directory])
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The connection string of the role that has only the rights of `Table.grants(to:)`.
    var connection: String { connection(user: "worker", password: "secret") }

    func connection(user: String, password: String, database other: String? = nil) -> String {
        "host=\(address) port=\(port) user=\(user) password=\(password) dbname=\(other ?? database)"
    }

    func makeTable(_ table: PostgreSQLTokenCache.Table = .standard) throws {
        try sql(table.definition + table.grants(to: "worker"))
    }

    @discardableResult
    func sql(_ text: String) throws -> String { try Self.run(["sql", directory, text, database]) }

    /// Returns a connection of the table's owner, for what goes on meanwhile.
    func session() throws -> DatabaseConnection {
        let parameters = try DatabaseParameters("host=\(directory) port=\(port) user=owner dbname=\(database)")
        return try DatabaseConnection(parameters, [], statementLimit: .seconds(60), until: .now + .seconds(10))
    }

    /// Waits until a statement of the programs waits, as the condition about pg_stat_activity says.
    func waitForProgram(_ condition: String) async throws {
        let question = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker' AND \(condition)"
        let end = ContinuousClock.now + .seconds(20)
        while try !sql(question).contains(" 1\n") {
            guard ContinuousClock.now < end else { throw Failed(command: question, output: "not within 20 s") }
            await Task.yield()
        }
    }

    /// Starts PgBouncer before the server, in a mode and with a line of settings, and returns its port.
    func pooler(_ mode: String, _ settings: String) throws -> String {
        try Self.run(["pooler", directory, mode, settings]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func restart() throws { try Self.run(["restart", directory]) }
    func stop() throws { try Self.run(["stop", directory]) }
    func promote() throws { try Self.run(["promote", directory]) }
    func signal(_ name: String) throws { try Self.run(["signal", directory, name]) }

    private static func place(in directory: String) throws -> (String, String) {
        let lines = try String(contentsOfFile: "\(directory)/env", encoding: .utf8).split(separator: "\n")
        func value(_ name: String) -> String {
            lines.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) } ?? ""
        }
        return (value("ADDRESS"), value("PORT"))
    }

    @discardableResult
    static func run(_ words: [String]) throws -> String {
        try command([try #require(clusterScript)] + words)
    }

    /// Runs a command and returns what it prints.
    @discardableResult
    static func command(_ words: [String]) throws -> String {
        let quoted = words.map {
            "'" + $0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        let command = quoted.joined(separator: " ")
        guard let pipe = unsafe popen("timeout 50 \(command) 2>&1 </dev/null", "re") else {
            throw Failed(command: command, output: "popen")
        }
        var output: [UInt8] = []
        while case let byte = unsafe fgetc(pipe), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
        let text = String(decoding: output, as: UTF8.self)
        guard unsafe pclose(pipe) == 0 else { throw Failed(command: command, output: text) }
        return text
    }
}

/// A key in a group of its own.
func randomKey(_ kind: CacheKey.Kind = .account) throws -> CacheKey {
    let digits = (0..<64).map { _ in "0123456789abcdef".randomElement() ?? "0" }
    return CacheKey(group: try CacheGroup("test-\(UUID().uuidString)"), kind: kind, name: String(digits))
}

extension CacheRecord {
    init(_ text: String) { self.init(bytes: Array(text.utf8)) }
}

/// The path of the worker, which is beside the tests.
func workerPath() throws -> String {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
    let path = bundle.deletingLastPathComponent().appendingPathComponent("refresh-worker").path
    try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not there")
    return path
}

/// Returns the error that a call throws.
func authenticationError(_ call: () async throws -> some Any) async throws -> AuthenticationError {
    do {
        _ = try await call()
    } catch let error as AuthenticationError { return error }
    throw TestServer.Failed(command: "a call that fails", output: "it succeeded")
}
