// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityPostgreSQL

/// Servers that answer anything but the truth, without PostgreSQL. They have the process for themselves, because its memory is
/// measured.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized, .timeLimit(.minutes(1)))
struct HostileServerTests {
    enum Answer: CaseIterable, Sendable {
        case nothing, anotherProtocol, noRows, tooManyColumns, nulls, copy, endlessRow, endlessRows, endlessNotices
        /// Warnings of a server that tells the truth.
        case fullQueue, lonelyCommit
        /// The first connection is told that the server starts, and the others nothing.
        case starting
    }

    @Test(arguments: Answer.allCases.filter { ![.fullQueue, .lonelyCommit, .starting].contains($0) })
    func endsInTime(_ answer: Answer) async throws {
        let server = try HostileServer(answer)
        let connection =
            "host=127.0.0.1 port=\(server.port) user=worker dbname=tokens sslmode=disable gssencmode=disable"
        let cache = PostgreSQLTokenCache(connectionString: connection, timeout: .seconds(2))
        let key = try randomKey()
        let before = peakMemory
        let begin = ContinuousClock.now
        let error = try await authenticationError { try await cache.record(for: key) }
        #expect(.cache ~= error.code)
        #expect(begin.duration(to: .now) < .seconds(10))
        // libpq reads one message as a whole, however long, while it comes as fast as it is read.
        if answer != .endlessRow { #expect(peakMemory - before < 64 << 10, "\(answer)") }
    }

    /// A queue of notifications that fills up has nothing to do with the write.
    @Test func believesAWriteInSpiteOfAFullQueue() async throws {
        func replace(_ answer: Answer) async throws -> Bool {
            let server = try HostileServer(answer)
            let cache = PostgreSQLTokenCache(
                connectionString: "host=127.0.0.1 port=\(server.port) user=worker sslmode=disable"
            )
            return try await cache.replace(nil, with: CacheRecord("one"), for: randomKey())
        }
        #expect(try await replace(.fullQueue))
        let error = try await authenticationError { try await replace(.lonelyCommit) }
        #expect(error.code == .cacheBusy && error.message.contains("standby"))
    }

    /// The last attempt is cut off.
    @Test func saysWhatAnEarlierAttemptWasTold() async throws {
        let server = try HostileServer(.starting)
        let connection = "host=127.0.0.1 port=\(server.port) user=worker sslmode=disable gssencmode=disable"
        let cache = PostgreSQLTokenCache(connectionString: connection, timeout: .seconds(1))
        let error = try await authenticationError { try await cache.record(for: randomKey()) }
        #expect(error.code == .cacheBusy && error.message.contains("57P03"), "\(error.message)")
        #expect(server.connections.value > 1)
    }

    /// In kilobytes.
    private var peakMemory: Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("VmHWM:") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }
}

/// A server that lets everyone in.
private final class HostileServer: Sendable {
    private let listener: Listener
    let connections = Shared(0)
    var port: UInt16 { listener.port }

    init(_ answer: HostileServerTests.Answer) throws {
        listener = try Listener()
        listener.start { [connections] program in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            func hears() -> Bool {
                if case .bytes = program.receive(into: &buffer) { true } else { false }
            }
            func says(_ bytes: [UInt8]) -> Bool {
                var rest = bytes[...]
                while !rest.isEmpty {
                    guard case .bytes(let count) = program.send(rest) else { return false }
                    rest = rest.dropFirst(count)
                }
                return true
            }
            guard hears() else { return }
            if answer == .anotherProtocol { return _ = says(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
            if answer == .starting, number == 1 {
                return _ = says(Self.message("E", Array("SFATAL\0VFATAL\0C57P03\0Mx\0\0".utf8)))
            }
            guard answer != .nothing, answer != .starting else { return _ = hears() }
            let welcome =
                Self.message("R", [0, 0, 0, 0])
                + ["server_version\0" + "15.0\0", "in_hot_standby\0off\0", "default_transaction_read_only\0off\0"]
                .flatMap { Self.message("S", Array($0.utf8)) } + Self.ready
            guard says(welcome), hears() else { return }
            // The connection's own questions are answered as they should be.
            guard says(Self.rows([[[0], [0, 0, 0, 0]]])), hears() else { return }
            guard says(Self.rows([[[], [], [], nil]])), hears() else { return }
            switch answer {
            case .noRows: _ = says(Self.message("1", []) + Self.message("2", []) + Self.ready)
            case .tooManyColumns: _ = says(Self.rows([[[1], [2], [3], [4]]]))
            case .nulls: _ = says(Self.rows([[nil, nil]]))
            case .copy: _ = says(Self.message("1", []) + Self.message("2", []) + Self.message("H", [0, 0, 0]))
            case .endlessRow:
                let head = Self.rows([[[], []]], isWhole: false) + [UInt8(ascii: "D"), 0x3f, 0xff, 0xff, 0xff]
                guard says(head) else { return }
                while says(buffer) {}
            case .endlessRows:
                guard says(Self.rows([[[], []]], isWhole: false)) else { return }
                let row = Self.row([[UInt8](repeating: 1, count: 4000), [UInt8](repeating: 1, count: 16)])
                while says(row) {}
            case .endlessNotices:
                let notice = Self.message("N", Array("SWARNING\0VWARNING\0C01000\0Mx\0\0".utf8))
                while says(notice) {}
            case .fullQueue, .lonelyCommit:
                let function = answer == .fullQueue ? "asyncQueueFillWarning" : "SyncRepWaitForLSN"
                _ = says(
                    Self.message("N", Array("SWARNUNG\0VWARNING\0C01000\0Mx\0R\(function)\0\0".utf8))
                        + Self.rows([[[]]])
                )
            case .nothing, .anotherProtocol, .starting: break
            }
            _ = hears()
        }
    }

    private static func message(_ kind: Character, _ content: [UInt8]) -> [UInt8] {
        Array(kind.utf8) + big(Int32(content.count + 4)) + content
    }

    private static func big(_ number: Int32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    private static let ready = message("Z", [UInt8(ascii: "I")])

    private static func row(_ values: [[UInt8]?]) -> [UInt8] {
        let columns = values.flatMap { value in value.map { big(Int32($0.count)) + $0 } ?? big(-1) }
        return message("D", [0, UInt8(values.count)] + columns)
    }

    /// The answer to a statement.
    private static func rows(_ rows: [[[UInt8]?]], isWhole: Bool = true) -> [UInt8] {
        let count = rows[0].count
        let column: [UInt8] =
            [UInt8(ascii: "c"), 0] + [UInt8](repeating: 0, count: 6) + big(17) + [0xff, 0xff] + big(-1) + [0, 1]
        let columns: [UInt8] = [0, UInt8(count)] + (0..<count).flatMap { _ in column }
        let head = message("1", []) + message("2", []) + message("T", columns)
        guard isWhole else { return head }
        return head + rows.flatMap(row) + message("C", Array("SELECT \(rows.count)\0".utf8)) + ready
    }
}
