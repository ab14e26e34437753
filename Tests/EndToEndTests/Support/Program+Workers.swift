// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

extension Program {
    /// Starts a separate process that shares the program's cache.
    ///
    /// - Parameter round: The round. The process's clock is so far ahead that the tokens of earlier rounds have
    ///   expired.
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

    /// Starts such a process, lets it act once, and returns its report.
    func report(_ round: Int, _ change: (inout WorkerOrders) -> Void = { _ in }) async throws -> WorkerReport {
        let worker = try worker(round, change)
        worker.go()
        return try #require(try await worker.report())
    }

    /// Lets several processes act at the same moment, and returns their reports.
    func reports(of workers: [WorkerProcess]) async throws -> [WorkerReport] {
        for worker in workers { try await worker.ready() }
        for worker in workers { worker.go() }
        var reports: [WorkerReport] = []
        for worker in workers { reports.append(try #require(try await worker.report())) }
        return reports
    }

    /// Starts a process of the first round, which kills itself at the given point.
    func killWorker(at point: String) async throws {
        let victim = try worker(1) { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
    }

    /// Makes a process force a new token, and expects the provider to accept the stored refresh token.
    func expectAlive(_ change: (inout WorkerOrders) -> Void = { _ in }) async throws {
        let report = try await report(3) {
            $0.forces = true
            change(&$0)
        }
        #expect(report.error == nil && report.source == "identityProvider", "\(report)")
    }

    /// Lets the tokens expire and begins a refresh. When this returns, the answer waits at the gate.
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
