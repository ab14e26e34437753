// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import IdentityTesting
import Testing

extension Program {
    /// A process of its own that shares the program's cache.
    ///
    /// - Parameter round: Its clock is so far ahead that the tokens of the rounds before have expired.
    func worker(_ round: Int, _ change: (inout WorkerOrders) -> Void = { _ in }) throws -> WorkerProcess {
        let clientID = try provider.clientID
        var orders = WorkerOrders(group: CacheGroup.application(clientID).name)
        orders.issuer = try provider.issuer
        orders.clientID = clientID.rawValue
        orders.clockOffset = try Double(round) * (provider.accessTokenLifetime / .seconds(1))
        change(&orders)
        let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(filePath: $0) } ?? own
        let path = bundle.deletingLastPathComponent().appending(path: "refresh-worker").path
        return try WorkerProcess([path, "file", "\(directory.path)/tokens"], orders: orders)
    }

    /// What such a process tells that acts once.
    func report(_ round: Int, _ change: (inout WorkerOrders) -> Void = { _ in }) async throws -> WorkerReport {
        let worker = try worker(round, change)
        worker.go()
        return try #require(try await worker.report())
    }

    /// What several tell that are told to act at the same moment.
    func reports(of workers: [WorkerProcess]) async throws -> [WorkerReport] {
        for worker in workers { try await worker.ready() }
        for worker in workers { worker.go() }
        var reports: [WorkerReport] = []
        for worker in workers { reports.append(try #require(try await worker.report())) }
        return reports
    }

    /// Has a process of the first round kill itself at that point.
    func killWorker(at point: String) async throws {
        let victim = try worker(1) { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
    }

    /// Has a process get a new token whatever it finds: the provider honours the refresh token that is stored.
    func expectAlive(_ change: (inout WorkerOrders) -> Void = { _ in }) async throws {
        let report = try await report(3) {
            $0.forces = true
            change(&$0)
        }
        #expect(report.error == nil && report.source == "identityProvider", "\(report)")
    }

    /// Lets the tokens expire and begins a refresh, whose answer waits at the gate when this returns.
    func heldRefresh(
        for account: Account
    ) async throws -> (gate: AnswerGate, result: Task<AuthenticationResult, any Error>) {
        clock.advance(by: try provider.accessTokenLifetime)
        let gate = wire.holdAnswers()
        let result = Task { try await token(for: account) }
        try await gate.answer()
        return (gate, result)
    }
}
