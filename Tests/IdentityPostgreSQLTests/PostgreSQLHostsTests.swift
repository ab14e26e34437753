// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityPostgreSQL

/// Four hosts with five processes each, one expired token, and a provider that ends the sign-in if a refresh token
/// comes twice. Something happens to the database in the middle.
@Suite(
    .enabled(if: TestNetwork.isPossible, "run Scripts/test-postgresql as root"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct PostgreSQLHostsTests {
    enum Event: String, CaseIterable {
        /// Nothing else.
        case none
        /// The host whose process refreshes is cut from the network, and joins it again.
        case holderCut
        /// The server is cut from the network, and joins it again.
        case serverCut
        /// The server ends without goodbye before it has written the answer, and starts again.
        case restartBeforeWrite
        /// The server ends without goodbye when it has written the answer and not yet said so, and starts again.
        case restartAfterWrite
        /// The server ends for good when it has written the answer and its synchronous standby has not. The standby
        /// takes over.
        case failover
    }

    private static let hosts = ["one", "two", "three", "four"]
    private static let rounds = ProcessInfo.processInfo.environment["IDENTITY_POSTGRESQL_ROUNDS"].flatMap(Int.init) ?? 1

    @Test(arguments: Event.allCases)
    func refreshesOnceForTwentyProcessesOnFourHosts(_ event: Event) async throws {
        var waits: [Double] = []
        for _ in 0..<(event == .failover ? Self.rounds : 1) {
            let hosts = try await Hosts(isReplicated: event == .failover)
            for _ in 0..<(event == .failover ? 1 : Self.rounds) { waits += try await hosts.refresh(during: event) }
        }
        waits.sort()
        print(
            "HOSTS \(event.rawValue): \(waits.count) tokens, median \(Int(waits[waits.count / 2])) ms,"
                + " longest \(Int(waits[waits.count - 1])) ms"
        )
    }

    /// The same failover over a standby that is not synchronous: the stored refresh token is a spent one.
    @Test func findsAStandbyThatLags() async throws {
        let hosts = try await Hosts(isReplicated: true)
        let (server, setup) = (hosts.server, hosts.setup)
        try server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try server.sql("SELECT pg_reload_conf()")
        let worker = try await setup.worker(entering: hosts.network.entering("one"))
        try hosts.network.cut("standby")
        worker.go()
        #expect(try await worker.report()?.unsaved == nil)
        try server.signal("KILL")
        try hosts.standby?.promote()
        try hosts.network.join("standby")
        let next = try #require(try await setup.refresh())
        #expect(next.error != nil)
        #expect(setup.sentRefreshTokens.count == 2 && Set(setup.sentRefreshTokens).count == 1)
    }

    /// The hosts, the database and the provider.
    private struct Hosts {
        let network: TestNetwork
        let server: TestServer
        let standby: TestServer?
        let setup: SharedCacheSetup

        init(isReplicated: Bool) async throws {
            network = try TestNetwork(PostgreSQLHostsTests.hosts + ["db", "standby"])
            server = try TestServer(own: true, at: network.place("db"))
            standby = isReplicated ? try TestServer(standbyOf: server, at: network.place("standby")) : nil
            var connection = server.connection + " sslmode=disable"
            // The standby is named first, and must not be taken while it only repeats what the server does.
            if let standby { connection += " host=\(standby.address),\(server.address)" }
            setup = try await SharedCacheSetup(
                PostgreSQLTokenCache(connectionString: connection),
                workers: [try workerPath(), "postgresql", connection]
            )
            let port = try #require(URL(string: setup.authority.url)?.port)
            try network.relay(port, to: PostgreSQLHostsTests.hosts)
        }

        /// Lets all processes ask for a token whose refresh token was not sent before.
        ///
        /// - Returns: The milliseconds that each of them waited.
        func refresh(during event: Event) async throws -> [Double] {
            setup.provider.forgetRequests()
            var workers: [WorkerProcess] = []
            for host in PostgreSQLHostsTests.hosts {
                for _ in 0..<5 {
                    workers.append(try await setup.worker(entering: network.entering(host)) { $0.forces = false })
                }
            }
            let gate = TestGate()
            setup.provider.failNext(.token, with: .held(by: gate))
            // The processes of the first host begin, so that one of them refreshes.
            for worker in workers.prefix(5) { worker.go() }
            try await setup.provider.waitForRequest(.token, count: 1)
            for worker in workers.dropFirst(5) { worker.go() }
            switch event {
            case .none: gate.open()
            case .holderCut: try await cut("one", gate)
            case .serverCut: try await cut("db", gate)
            case .restartBeforeWrite:
                let session = try server.session()
                try session.execute("BEGIN", until: .now + .seconds(10))
                let lock = "SELECT name FROM public.identity_record WHERE kind = 'account' FOR UPDATE"
                _ = try session.query(lock, until: .now + .seconds(10))
                gate.open()
                try await server.waitForProgram("wait_event_type = 'Lock'")
                try server.restart()
            case .restartAfterWrite:
                try server.sql("ALTER SYSTEM SET synchronous_standby_names = 'none'")
                try server.sql("SET synchronous_commit = local; SELECT pg_reload_conf()")
                // The server waits for a standby that is not there, from now on.
                let (session, comment) = (try server.session(), "COMMENT ON TABLE public.identity_record IS 'tokens'")
                while (try? session.execute(comment, until: .now + .milliseconds(200))) != nil {}
                gate.open()
                try await server.waitForProgram("wait_event = 'SyncRep'")
                try server.sql("ALTER SYSTEM RESET synchronous_standby_names")
                try server.restart()
            case .failover:
                try network.cut("standby")
                gate.open()
                try await server.waitForProgram("wait_event = 'SyncRep'")
                try server.signal("KILL")
                // For a while there is no server but one that only reads.
                try network.join("standby")
                try standby?.promote()
            }
            var reports: [WorkerReport] = []
            for worker in workers { reports.append(try #require(try await worker.report())) }
            let problems = reports.compactMap { $0.error ?? $0.unsaved }
            #expect(problems.isEmpty, "\(event): \(problems)")
            #expect(Set(reports.map(\.token)).count == 1 && reports[0].token != nil)
            #expect(setup.sentRefreshTokens.count == 1)
            // The sign-in goes on: the stored refresh token is the one that counts. The next round has an expired token.
            let next = try #require(try await setup.refresh())
            #expect(next.error == nil && next.source == "identityProvider", "\(event): \(next.error ?? "")")
            #expect(Set(setup.sentRefreshTokens).count == 2 && setup.sentRefreshTokens.count == 2)
            try await expire()
            return reports.map(\.milliseconds)
        }

        private func cut(_ host: String, _ gate: TestGate) async throws {
            try network.cut(host)
            gate.open()
            // Long enough for a call to notice, and shorter than its time.
            try await Task.sleep(for: .seconds(2))
            try network.join(host)
        }

        /// Signs in anew two hours ago.
        private func expire() async throws {
            setup.clock.advance(by: .seconds(-7200))
            try await setup.signIn(.alice)
            setup.clock.advance(by: .seconds(7200))
        }
    }
}
