// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The reason why the database did not do what it was asked to do.
enum DatabaseProblem: Error, Equatable {
    /// libpq cannot be loaded, for the loader's reason.
    case library(String)
    /// The connection string is malformed, at this parameter if that can be told.
    case parameters(String?)
    /// This version of libpq knows no certificate authorities, and none is named.
    case noAuthorities(String)
    /// There is no connection; libpq's reason, without secrets.
    case unreachable(String)
    /// The server is there, and is not the one that the connection string asks for: its certificate, no TLS, or no
    /// PostgreSQL; libpq's reason, without secrets.
    case mistrusted(String)
    /// The server refused the connection, with this SQLSTATE.
    case refused(String)
    /// The server has no database of this name.
    case noDatabase(String)
    /// A pooler gives each transaction another session.
    case swapped
    /// The server refused the statement of this role, with this SQLSTATE.
    case failed(String, role: String)
    /// The connection was lost. The statement may have been done.
    case lost
    /// The time was up. The statement may have been done.
    case time
    /// The server changed no row, and gave no error: row security or a trigger keeps the role from it.
    case ignored
    /// The server only reads: it is a standby, or was told so.
    case readOnly
    /// The server did the statement with a warning: a synchronous standby may not have it.
    case unconfirmed
    /// The answer is none that the statement can have.
    case nonsense
    /// The answer is longer than the statement's answers can be.
    case tooLarge

    /// Reads an error of the server. A server that ends may have done the statement just before, as may one that says that
    /// the outcome is not known (08007, 40003); one that ends a transaction has done nothing of it.
    init(state: String, role: String) {
        let isLoss = state.hasPrefix("57P") || state.hasPrefix("08") || ["25P03", "40003"].contains(state)
        self = isLoss ? .lost : .failed(state, role: role)
    }

    /// The server did not answer a connection in time.
    static let silence = DatabaseProblem.unreachable("the server does not answer")

    /// Whether another attempt, on another connection, may succeed soon.
    var isPassing: Bool {
        switch self {
        case .unreachable, .lost, .readOnly: true
        case .refused(let state), .failed(let state, _):
            // Connections, too many of them, and a server that starts or ends; a transaction that lost against another.
            state.hasPrefix("08") || state.hasPrefix("40") || state.hasPrefix("57P") || state == "53300"
        default: false
        }
    }

    /// Whether the server may have done the statement all the same.
    var mayBeDone: Bool { self == .lost || self == .time }

    /// The error for the program, which says what to do next.
    func error(for table: PostgreSQLTokenCache.Table) -> AuthenticationError {
        let (code, message) = explanation(for: table)
        return AuthenticationError(code, message, underlyingError: self)
    }

    private func explanation(for table: PostgreSQLTokenCache.Table) -> (AuthenticationError.Code, String) {
        switch self {
        case .library(let reason):
            (.cache, "PostgreSQL's client library (libpq.so.5) cannot be used: \(reason). Install the package libpq5.")
        case .parameters(let key):
            (
                .cache,
                "The connection string for PostgreSQL is malformed\(key.map { " at \"\($0)\"" } ?? ""). Its form is that of libpq: "
                    + "'host=db dbname=tokens'."
            )
        case .noAuthorities(let version):
            (
                .cache,
                """
                The tokens go to PostgreSQL over TLS with a verified server (sslmode=verify-full), and libpq \(version) knows no \
                certificate authorities by itself. Add one of these lines to the connection string:
                sslrootcert=/etc/ssl/certs/ca-certificates.crt (a public certificate; libpq 16 finds the system's itself)
                sslrootcert=FILE (the certificate of your own authority)
                sslmode=disable (only in a network that others cannot listen to: tokens and password pass in clear text)
                """
            )
        case .unreachable(let reason):
            (.cacheBusy, "There is no connection to PostgreSQL: \(reason). The tokens are still there; try again.")
        case .mistrusted(let reason):
            (
                .cache,
                "The server is not the PostgreSQL that was asked for: \(reason). Check host and port of the connection "
                    + "string; for TLS also sslmode (verify-full unless it says otherwise, but for sockets and 127.0.0.1), "
                    + "sslrootcert, sslcert and sslkey, the name in the server's certificate, and that ssl is on there."
            )
        case .refused(let state): Self.refusal(state)
        case .noDatabase(let name):
            (.cache, "PostgreSQL has no database named \"\(name)\" (3D000). Create it with createdb, or name another.")
        case .swapped:
            (
                .cache,
                "A pooler before PostgreSQL gives each transaction another session, in which changes cannot be heard. In "
                    + "PgBouncer, set pool_mode = session for this database or role; or name PostgreSQL's own host and port."
            )
        case .ignored:
            (
                .cachePermissions,
                "PostgreSQL keeps this role from changing rows of \(table.quoted), and says nothing: row security lacks a policy "
                    + "for INSERT or UPDATE, or a trigger drops the change. Add the policy, or remove the trigger."
            )
        case .failed(let state, let role): Self.failure(state, role, table)
        case .lost:
            (
                .cacheBusy,
                "The connection to PostgreSQL was lost. If this was a write, the server may have done it. Try again."
            )
        case .time:
            (
                .cacheBusy,
                "PostgreSQL did not answer in time. If this was a write, the server may still do it. Try again."
            )
        case .readOnly:
            (
                .cachePermissions,
                "This PostgreSQL server only reads: it is a standby, or default_transaction_read_only is on. Name the "
                    + "primary server, or name all servers and leave target_session_attrs at read-write."
            )
        case .unconfirmed:
            (
                .cacheBusy,
                "PostgreSQL stored the record with a warning: a synchronous standby may lack it. See the server's log."
            )
        case .nonsense:
            (.cache, "The answer is not one of PostgreSQL's. Check the host and the port of the connection string.")
        case .tooLarge:
            (.cache, "PostgreSQL's answer is longer than records can be. Check what else writes to \(table.quoted).")
        }
    }

    private static func refusal(_ state: String) -> (AuthenticationError.Code, String) {
        switch state {
        case "28P01", "28000":
            (
                .cachePermissions,
                "PostgreSQL refused the role or its password (\(state)). Check user and password of the connection "
                    + "string, PGUSER, PGPASSWORD and ~/.pgpass, and the server's pg_hba.conf: it may demand TLS "
                    + "(sslmode) or a certificate of this role (sslcert, sslkey)."
            )
        case "42501":
            (
                .cachePermissions,
                "The role may not connect to this database (42501): GRANT CONNECT ON DATABASE ... TO ..."
            )
        case "53300":
            (
                .cacheBusy,
                "PostgreSQL has no connection left (53300). Raise max_connections, or let fewer programs connect."
            )
        default:
            (.cacheBusy, "PostgreSQL accepts no connection now (\(state)). The tokens are still there; try again.")
        }
    }

    private static func failure(
        _ state: String,
        _ role: String,
        _ table: PostgreSQLTokenCache.Table
    ) -> (AuthenticationError.Code, String) {
        switch state {
        case "42P01", "3F000":
            (.cache, "The table for tokens is missing. Create it once, as its owner:\n\(table.definition)")
        case "42703", "42P10", "42804", "42883":
            (
                .cache,
                "The table \(table.quoted) has another form (\(state)). Name another table, or create it anew:\n"
                    + table.definition
            )
        case "42501":
            (.cachePermissions, "The role lacks rights. Run, as the table's owner:\n\(table.grants(to: role))")
        case "25006": Self.readOnly.explanation(for: table)
        case "53100", "53400":
            (.cacheFull, "The disk of PostgreSQL is full (\(state)). The stored tokens are unchanged; make room.")
        case "57014", "55P03":
            (
                .cacheBusy,
                "Another session keeps a lock on \(table.quoted) (\(state)). pg_stat_activity shows the session; end it, "
                    + "or try again."
            )
        default:
            (.cache, "PostgreSQL refused the statement (SQLSTATE \(state)). See the server's log.")
        }
    }
}
