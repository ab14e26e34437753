// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Glibc
import OAuthWire
import SystemSupport

/// A connection to the database. One thread at a time uses it; a call waits until its deadline and no longer.
final class DatabaseConnection: Sendable {
    /// A parameter of a statement, in PostgreSQL's binary form.
    struct Value {
        let type: UInt32
        let bytes: [UInt8]

        static func text(_ text: String) -> Self { Self(type: 25, bytes: Array(text.utf8)) }
        static func bytes(_ bytes: [UInt8]) -> Self { Self(type: 17, bytes: bytes) }
        static func identifier(_ bytes: [UInt8]) -> Self { Self(type: 2950, bytes: bytes) }
    }

    typealias Row = [[UInt8]?]

    /// The address of libpq's connection.
    private let address: UInt

    /// Connects to one server, which must be one that writes and give this connection a session of its own.
    ///
    /// - Parameter limit: The longest time that the server itself spends on a statement.
    /// - Throws: `DatabaseProblem`.
    convenience init(
        _ parameters: DatabaseParameters,
        _ server: DatabaseParameters.Choice,
        statementLimit limit: Duration,
        until deadline: SuspendingClock.Instant
    ) throws {
        try self.init(to: server, parameters, until: deadline)
        let session = try session(until: deadline)
        let told = unsafe cpostgresql_process(pointer)
        // A pooler tells another number than the server's.
        if session != (0..<4).map({ UInt8(truncatingIfNeeded: told >> (24 - 8 * $0)) }) {
            try prove(session, beside: Self(to: server, parameters, until: deadline), until: deadline)
        }
        let milliseconds = max(1, limit / .milliseconds(1))
        let rows = try query(
            """
            SELECT pg_catalog.set_config('statement_timeout', $1, false),
                pg_catalog.set_config('idle_in_transaction_session_timeout', $1, false),
                pg_catalog.set_config('search_path', 'pg_catalog', false),
                CASE WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local')
                    THEN pg_catalog.set_config('synchronous_commit', 'on', false) END
            """,
            [.text("\(Int(milliseconds))")],
            limit: 4096,
            until: deadline
        )
        guard rows.count == 1, rows[0].count == 4 else { throw DatabaseProblem.nonsense }
    }

    /// Connects, and changes nothing in the session.
    private init(
        to server: DatabaseParameters.Choice,
        _ parameters: DatabaseParameters,
        until deadline: SuspendingClock.Instant
    ) throws {
        let all = parameters.all(of: server)
        let started = unsafe CText.withPointers(all.map { CText($0.keyword) }) { keywords in
            unsafe CText.withPointers(all.map { CText($0.value) }) { unsafe cpostgresql_start(keywords, $0) }
        }
        guard let started = unsafe started else { throw DatabaseProblem.unreachable("no memory") }
        address = UInt(bitPattern: started)
        try open(parameters, until: deadline)
    }

    /// Returns the number of the server's process that answers, four bytes.
    private func session(until deadline: SuspendingClock.Instant) throws -> [UInt8] {
        let statement = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.pg_backend_pid()"
        let rows = try query(statement, limit: 4096, until: deadline)
        guard rows.count == 1, rows[0].count == 2, let isStandby = rows[0][0], let process = rows[0][1] else {
            throw DatabaseProblem.nonsense
        }
        if isStandby != [0] { throw DatabaseProblem.readOnly }
        return process
    }

    /// Proves that a pooler keeps a session for each connection. One that does not gives what is set here to other programs, and
    /// tells of no change.
    ///
    /// Between transactions such a pooler gives a session that was used last to the next connection that asks, or all of them in
    /// turn to this connection.
    private func prove(
        _ session: [UInt8],
        beside other: DatabaseConnection,
        until deadline: SuspendingClock.Instant
    ) throws {
        let second = try self.session(until: deadline)
        try other.execute("BEGIN", until: deadline)
        let others = try other.session(until: deadline)
        let third = try self.session(until: deadline)
        try other.execute("ROLLBACK", until: deadline)
        guard second == session, third == session, others != session else { throw DatabaseProblem.swapped }
    }

    deinit {
        unsafe cpostgresql_close(pointer)
    }

    private var pointer: OpaquePointer? { unsafe OpaquePointer(bitPattern: address) }

    private func open(_ parameters: DatabaseParameters, until deadline: SuspendingClock.Instant) throws {
        guard isGood else { throw refusal(parameters) }
        var step = CPOSTGRESQL_WRITING
        while step != CPOSTGRESQL_OPEN {
            guard step != CPOSTGRESQL_FAILED else { throw refusal(parameters) }
            let events = step == CPOSTGRESQL_READING ? POLLIN : POLLOUT
            do {
                try wait(for: events, until: deadline)
            } catch DatabaseProblem.time {
                throw DatabaseProblem.silence
            }
            step = unsafe cpostgresql_poll(pointer)
        }
    }

    /// Why there is no connection. Of a server's refusal libpq tells the SQLSTATE alone, at the end of its words.
    private func refusal(_ parameters: DatabaseParameters) -> DatabaseProblem {
        if unsafe cpostgresql_lacks_password(pointer) { return .refused("28P01") }
        let reason = unsafe cpostgresql_message(pointer).map { unsafe String(cString: $0) } ?? ""
        let last = reason.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.last.map(Array.init) ?? []
        let state = String(decoding: last, as: UTF8.self)
        if last.count == 5, last.allSatisfy({ $0.isDigit || (0x41...0x5a).contains($0) }),
            reason.contains(":  \(state)")
        {
            guard state == "3D000" else { return .refused(state) }
            let database = unsafe cpostgresql_database(pointer).map { unsafe String(cString: $0) } ?? ""
            return .noDatabase(DatabaseParameters.printable(database.utf8.prefix(63)))
        }
        let cleaned = parameters.cleaned(reason)
        return unsafe cpostgresql_is_mistrusted(pointer) ? .mistrusted(cleaned) : .unreachable(cleaned)
    }
}

extension DatabaseConnection {
    /// Whether the connection is neither closed nor failed, as far as is known.
    var isGood: Bool { unsafe cpostgresql_is_good(pointer) }

    /// The socket, to wait for what the server sends by itself.
    var socket: Int32 { unsafe cpostgresql_socket(pointer) }

    /// The number of the server's warnings so far.
    var warnings: UInt32 { unsafe cpostgresql_warnings(pointer) }

    /// Sends a statement, and returns the rows of its answer.
    ///
    /// - Parameter limit: The longest answer, in bytes of the connection. libpq may read more of it before that is seen.
    /// - Throws: `DatabaseProblem`. After any but `.failed` the connection is of no more use.
    func query(
        _ statement: String,
        _ values: [Value] = [],
        limit: Int = 1 << 21,
        until deadline: SuspendingClock.Instant
    ) throws -> [Row] {
        // An answer without rows is not one of no rows.
        guard let rows = try ask(statement, values, limit, deadline) else { throw DatabaseProblem.nonsense }
        return rows
    }

    /// Sends a statement that has no rows, and waits until it is done.
    ///
    /// - Throws: As ``query(_:_:limit:until:)``.
    func execute(_ statement: String, _ values: [Value] = [], until deadline: SuspendingClock.Instant) throws {
        guard try ask(statement, values, 4096, deadline) == nil else { throw DatabaseProblem.nonsense }
    }

    private func ask(
        _ statement: String,
        _ values: [Value],
        _ limit: Int,
        _ deadline: SuspendingClock.Instant
    ) throws -> [Row]? {
        guard send(statement, values) else { throw DatabaseProblem.lost }
        while true {
            let rest = unsafe cpostgresql_flush(pointer)
            if rest == 0 { break }
            guard rest > 0 else { throw DatabaseProblem.lost }
            if try wait(for: POLLIN | POLLOUT, until: deadline) & POLLIN != 0 { try consume() }
        }
        return try answer(limit: limit, until: deadline)
    }

    private func send(_ statement: String, _ values: [Value]) -> Bool {
        let all = values.flatMap(\.bytes) + [0]
        return unsafe all.withUnsafeBufferPointer { all in
            var offset = 0
            let pointers = unsafe values.map { value in
                defer { offset += value.bytes.count }
                return unsafe all.baseAddress.map { unsafe $0 + offset }
            }
            let lengths = values.map { Int32(clamping: $0.bytes.count) }
            return unsafe cpostgresql_send(
                pointer,
                statement,
                Int32(values.count),
                values.map(\.type),
                pointers,
                lengths
            )
        }
    }

    /// Returns the rows; `nil` if the statement has none to return.
    private func answer(limit: Int, until deadline: SuspendingClock.Instant) throws -> [Row]? {
        var (received, isDone) = (0, false)
        var rows: [Row]?
        var problem: DatabaseProblem?
        while true {
            while unsafe cpostgresql_is_busy(pointer) {
                try wait(for: POLLIN, until: deadline)
                try consume(&received)
                guard received <= limit else { throw DatabaseProblem.tooLarge }
            }
            guard let result = unsafe cpostgresql_next(pointer) else { break }
            defer { unsafe cpostgresql_free(result) }
            switch cpostgresql_kind(UInt32(bitPattern: unsafe cpostgresql_kind_of(result))) {
            case CPOSTGRESQL_COMMAND where !isDone: isDone = true
            case CPOSTGRESQL_ROWS where !isDone: (rows, isDone) = unsafe (Self.rows(of: result), true)
            case CPOSTGRESQL_ERROR: problem = unsafe problem ?? self.problem(of: result)
            default: throw DatabaseProblem.nonsense
            }
        }
        if let problem { throw problem }
        guard isDone else { throw DatabaseProblem.nonsense }
        return rows
    }

    private func problem(of result: OpaquePointer) -> DatabaseProblem {
        guard isGood, let state = unsafe cpostgresql_sqlstate(result) else { return .lost }  // libpq's own words
        let role = unsafe cpostgresql_user(pointer).map { unsafe String(cString: $0) } ?? ""
        return unsafe DatabaseProblem(state: String(cString: state), role: role)
    }

    private static func rows(of result: OpaquePointer) -> [Row] {
        let (rows, columns) = unsafe (cpostgresql_row_count(result), cpostgresql_column_count(result))
        return (0..<max(0, rows)).map { row in
            (0..<max(0, columns)).map { column in
                var count = 0
                guard let value = unsafe cpostgresql_value(result, row, column, &count) else { return nil }
                return unsafe Array(UnsafeBufferPointer(start: value, count: count))
            }
        }
    }

    /// Reads what has arrived.
    func consume() throws {
        var received = 0
        try consume(&received)
    }

    private func consume(_ received: inout Int) throws {
        guard unsafe cpostgresql_consume(pointer, &received) else { throw DatabaseProblem.lost }
    }

    @discardableResult
    private func wait(for events: Int32, until deadline: SuspendingClock.Instant) throws -> Int32 {
        let left = SuspendingClock.now.duration(to: deadline)
        let ready = Poll.wait(for: [Poll.Awaited(socket, events)], until: .now + left)[0]
        guard ready != 0 || SuspendingClock.now < deadline else { throw DatabaseProblem.time }
        return ready
    }

    /// Takes the notifications that have arrived.
    func notifications() -> [(channel: String, text: String)] {
        var found: [(channel: String, text: String)] = []
        unsafe withUnsafeMutablePointer(to: &found) { found in
            let isTaken = {
                unsafe cpostgresql_notification(
                    self.pointer,
                    { data, channel, text in
                        guard let data = unsafe data, let channel = unsafe channel, let text = unsafe text else {
                            return
                        }
                        let found = unsafe data.assumingMemoryBound(to: [(channel: String, text: String)].self)
                        unsafe found.pointee.append((String(cString: channel), String(cString: text)))
                    },
                    found
                )
            }
            while isTaken() {}
        }
        return found
    }
}
