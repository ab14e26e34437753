// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTestSupport
import Testing

@testable import IdentityPostgreSQL

/// TLS with a real server, all of it by libpq's own parameters.
@Suite(
    .enabled(if: clusterScript != nil && CertificateAuthority.isAvailable, "run Scripts/test-postgresql"),
    .serialized,
    .timeLimit(.minutes(1))
)
struct EncryptedConnectionTests {
    private static let name = "database.example"
    private let one = CacheRecord("one")

    @Test func writesToTheServerOfItsAuthority() async throws {
        let (authority, server) = try await Self.server()
        let cache = PostgreSQLTokenCache(
            connectionString: server.connection + Self.place
                + " sslmode=verify-full sslrootcert=\(authority.certificate)"
        )
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await cache.record(for: key) == one)
        let connections = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'worker'"
        #expect(try server.sql("SELECT bool_and(ssl) \(connections)").contains(" t\n"))
    }

    @Test func trustsNoOtherServer() async throws {
        let (authority, server) = try await Self.server()
        let another = try await CertificateAuthority.make()
        let known = "sslrootcert=\(authority.certificate)"
        let elsewhere = "host=other.example hostaddr=\(server.address)"
        for (parameters, reason) in [
            ("\(Self.place) sslrootcert=\(another.certificate)", "certificate verify failed"),
            ("\(elsewhere) \(known)", "does not match host name"),
            ("\(Self.place) sslrootcert=/nowhere/ca.pem", "/nowhere/ca.pem"),
            ("\(Self.place) \(known) sslcert=\(authority.certificate) sslkey=/nowhere/key.pem", "/nowhere/key.pem"),
        ] {
            let error = try await refusal(
                server.connection(user: "worker", password: "hunter2") + " \(parameters) sslmode=verify-full"
            )
            #expect(error.code == .cache && error.message.contains(reason), "\(error.message)")
            #expect(error.message.contains("sslrootcert") && !"\(error) \(error.message)".contains("hunter2"))
        }
    }

    @Test(arguments: ["require", "verify-full"])
    func refusesAServerWithoutTLS(_ mode: String) async throws {
        let (authority, server) = (try await CertificateAuthority.make(), try TestServer())
        let error = try await refusal(
            server.connection(user: "worker", password: "hunter2")
                + " sslmode=\(mode) sslrootcert=\(authority.certificate)"
        )
        #expect(error.code == .cache && error.message.contains("does not support SSL"), "\(error.message)")
        #expect(error.message.contains("ssl is on") && !"\(error) \(error.message)".contains("hunter2"))
    }

    @Test func showsACertificateOfItsOwn() async throws {
        let (authority, server) = try await Self.server()
        let another = try await CertificateAuthority.make()
        for issuer in [authority, another] { try await issuer.certify("certified") }
        try await authority.certify("worker")
        try server.sql(PostgreSQLTokenCache.Table.standard.grants(to: "certified"))
        let whole =
            "port=\(server.port) user=certified dbname=\(server.database)\(Self.place) sslmode=verify-full "
            + "sslrootcert=\(authority.certificate)"
        func own(_ issuer: CertificateAuthority, _ name: String) -> String {
            "\(whole) sslcert=\(issuer.directory.path)/\(name).pem sslkey=\(issuer.directory.path)/\(name).key"
        }
        let key = try randomKey()
        #expect(
            try await PostgreSQLTokenCache(connectionString: own(authority, "certified")).replace(
                nil,
                with: one,
                for: key
            )
        )
        for connection in [whole + " sslcert=/nowhere", own(authority, "worker")] {
            let error = try await refusal(connection)
            #expect(error.code == .cachePermissions && error.message.contains("28000"), "\(error.message)")
            #expect(error.message.contains("sslcert"))
        }
        let error = try await refusal(own(another, "certified"))
        #expect(.cache ~= error.code && error.message.contains("unknown ca"), "\(error.message)")
    }

    @Test func bearsAServerThatEndsInTheMiddleOfAHandshake() async throws {
        let (authority, server) = try await Self.server()
        let relay = try Relay(to: #require(UInt16(server.port)))
        let cache = PostgreSQLTokenCache(
            connectionString: server.connection + Self.place
                + " port=\(relay.port) sslmode=verify-full sslrootcert=\(authority.certificate)"
        )
        relay.lose(.halfAnswer)
        #expect(try await cache.replace(nil, with: one, for: randomKey()))
        #expect(relay.count == 1)
    }

    /// The server has the name in its certificate, whatever the resolver knows.
    private static let place = " host=\(name) hostaddr=127.0.0.1"

    private static func server() async throws -> (CertificateAuthority, TestServer) {
        let authority = try await CertificateAuthority.make()
        try await authority.certify(name)
        let server = try TestServer(own: true)
        try TestServer.run(["tls", server.directory, authority.directory.path, name])
        return (authority, server)
    }

    /// The error of a call that is not repeated until its time is up.
    private func refusal(_ connection: String) async throws -> AuthenticationError {
        let (cache, key) = (PostgreSQLTokenCache(connectionString: connection, timeout: .seconds(20)), try randomKey())
        let begin = ContinuousClock.now
        let error = try await authenticationError { try await cache.record(for: key) }
        #expect(begin.duration(to: .now) < .seconds(10), "\(error.message)")
        return error
    }
}
