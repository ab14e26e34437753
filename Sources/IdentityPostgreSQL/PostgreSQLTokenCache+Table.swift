// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension PostgreSQLTokenCache {
    /// The table that keeps the records, with the statements that create it.
    ///
    /// ```swift
    /// let table = try PostgreSQLTokenCache.Table("tokens", schema: "identity")
    /// print(table.definition)
    /// print(table.grants(to: "worker"))
    /// ```
    public struct Table: Hashable, Sendable {
        /// The table `identity_record` in the schema `public`.
        public static let standard = Table(schema: "public", table: "identity_record")

        /// The qualified name, quoted for a statement.
        let quoted: String
        private let quotedSchema: String

        private init(schema: String, table: String) {
            quotedSchema = Self.quoted(schema)
            quoted = "\(quotedSchema).\(Self.quoted(table))"
        }

        /// Names a table. The name is quoted wherever it is used: upper-case letters stay.
        ///
        /// - Parameters:
        ///   - name: The table's name, without its schema.
        ///   - schema: The table's schema, `public` by default. The search path is not used.
        /// - Throws: `.invalidArgument` for a name that is empty, longer than 63 bytes or has a NUL.
        public init(_ name: String, schema: String = "public") throws {
            for part in [name, schema] where !(1...63).contains(part.utf8.count) || part.utf8.contains(0) {
                throw AuthenticationError(
                    .invalidArgument,
                    "A name in PostgreSQL has 1 to 63 bytes and no NUL. Choose another for the table or its schema."
                )
            }
            self.init(schema: schema, table: name)
        }

        /// The statement that creates the table. Its owner runs it once; no program does by itself.
        public var definition: String {
            """
            CREATE TABLE \(quoted) (
                cache_group text COLLATE "C" NOT NULL,
                kind text COLLATE "C" NOT NULL,
                name text COLLATE "C" NOT NULL,
                content bytea NOT NULL CHECK (octet_length(content) <= \(PostgreSQLTokenCache.recordLimit)),
                write_id uuid NOT NULL,
                PRIMARY KEY (cache_group, kind, name)
            );
            """
        }

        /// The statements that give a role the rights that the cache needs, and no others.
        ///
        /// - Parameter role: The role with which the programs connect.
        public func grants(to role: String) -> String {
            """
            GRANT USAGE ON SCHEMA \(quotedSchema) TO \(Self.quoted(role));
            GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE \(quoted) TO \(Self.quoted(role));
            """
        }

        private static func quoted(_ name: String) -> String {
            let quote = UInt8(ascii: "\"")
            let bytes = name.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
            return "\"\(String(decoding: bytes, as: UTF8.self))\""
        }
    }
}

// The statements. Names and values are parameters; each change tells the group's channel.
extension PostgreSQLTokenCache.Table {
    private static let place = "cache_group = $1 AND kind = $2 AND name = $3"

    var read: String {
        "SELECT content, write_id FROM \(quoted) WHERE \(Self.place)"
    }

    var list: String {
        "SELECT name, content FROM \(quoted) WHERE cache_group = $1 AND kind = $2"
    }

    /// Its parameters after the place: the channel, the notification, the identifier of the write, the new content.
    var insert: String {
        telling(
            "INSERT INTO \(quoted) (cache_group, kind, name, write_id, content) VALUES ($1, $2, $3, $6, $7) "
                + "ON CONFLICT (cache_group, kind, name) DO NOTHING"
        )
    }

    /// The same, and the expected content.
    var update: String {
        telling("UPDATE \(quoted) SET write_id = $6, content = $7 WHERE \(Self.place) AND content = $8")
    }

    /// Its parameters after the place: the channel, the notification, the expected content.
    var delete: String {
        telling("DELETE FROM \(quoted) WHERE \(Self.place) AND content = $6")
    }

    /// Writes a record, for a transaction that is rolled back, if the role may do all that the cache does. Its parameters after
    /// the place: the content.
    var trial: String {
        """
        WITH deleted AS (DELETE FROM \(quoted) WHERE \(Self.place) AND false RETURNING name)
        INSERT INTO \(quoted) (cache_group, kind, name, write_id, content)
            VALUES ($1, $2, $3, '00000000-0000-0000-0000-000000000000', $4) RETURNING name
        """
    }

    /// Changes that record: row security and triggers may drop an update without an error. Its parameters after the place: the
    /// identifier of the write.
    var secondTrial: String {
        "UPDATE \(quoted) SET write_id = $4, content = content WHERE \(Self.place) RETURNING name"
    }

    private func telling(_ change: String) -> String {
        "WITH changed AS (\(change) RETURNING name) SELECT pg_catalog.pg_notify($4, $5) FROM changed"
    }

    /// The channel that tells of a group's changes. Groups and tables have channels of their own.
    func channel(of group: CacheGroup) -> String {
        "identity_" + Digest.hexadecimal(of: [quoted, group.name]).prefix(32)
    }
}
