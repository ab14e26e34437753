// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTesting

/// The checks of the promises that several processes on one storage rely on.
struct ProcessProof: Sendable {
    let tested: TokenCacheConformance.TestedCache
    let command: [String]
    let processes: Int
    let randomDeaths: Int

    private func setup(grace: Duration = .zero) async throws -> SharedCacheSetup {
        try await SharedCacheSetup(tested.cache, workers: command, group: tested.group, grace: grace)
    }

    func checkIncrements() async throws {
        var orders = WorkerOrders(group: tested.group.name)
        orders.counter = tested.key.name
        orders.increments = 10
        let workers = try (0..<processes).map { _ in try WorkerProcess(command, orders: orders) }
        for worker in workers { try await worker.ready() }
        for worker in workers { worker.go() }
        for worker in workers {
            let report = try await report(of: worker)
            try tested.expect(report.error == nil, "a process got this error: \(report.error ?? "")")
        }
        let total = "\(processes * orders.increments)"
        try await tested.expect(CacheRecord(text: total), at: tested.key, "After \(total) increments")
    }

    /// The cache's name in the lines about times.
    private var store: String { "\(type(of: tested.cache))" }

    /// Returns a line with the times that the processes waited.
    func checkOneRefresh() async throws -> String {
        let setup = try await setup()
        setup.provider.failNext(.token, with: .delay(.milliseconds(50)))
        // With two rounds, no worker ends before all have their token; an ending process would take time from the
        // others.
        let workers = try await setup.workers(processes) { $0.rounds = 2 }
        for worker in workers { worker.go() }
        var tokens: Set<String> = []
        var waits: [Int] = []
        for worker in workers {
            let report = try await report(of: worker)
            try tested.expect(report.error == nil, "a process got this error: \(report.error ?? "")")
            tokens.insert(report.token ?? "")
            waits.append(Int(report.milliseconds))
        }
        let sent = setup.sentRefreshTokens
        try tested.expect(sent.count == 1, "\(processes) processes sent \(sent.count) refresh requests.")
        try tested.expect(tokens.count == 1, "\(processes) processes got \(tokens.count) different tokens.")
        try await expectAlive(setup, "after that")
        waits.sort()
        let (median, maximum) = (waits[waits.count / 2], waits[waits.count - 1])
        return "WAITS \(store): median \(median) ms, longest \(maximum) ms, \(waits.count) waits for 50 ms"
    }

    /// Starts a process whose refresh the provider answers once the gate is open.
    private func heldRefresh() async throws -> (setup: SharedCacheSetup, refresher: WorkerProcess, gate: TestGate) {
        let setup = try await setup()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let refresher = try await setup.worker()
        refresher.go()
        try await setup.provider.waitForRequest(.token)
        return (setup, refresher, gate)
    }

    func checkSignOut() async throws {
        let (setup, refresher, gate) = try await heldRefresh()
        let left = try await setup.acquire { $0.removes = true }
        try tested.expect(left?.error == nil, "signing out met this error: \(left?.error ?? "")")
        gate.open()
        let late = try await report(of: refresher)
        try tested.expect(late.token == nil, "the process that was refreshing got a token for a removed account.")
        let accounts = try await setup.application().allAccounts()
        try tested.expect(accounts.isEmpty, "the account that was removed is there again.")
    }

    func checkSignIn() async throws {
        let (setup, refresher, gate) = try await heldRefresh()
        let newer = try await setup.signIn(.alice).accessToken
        gate.open()
        let late = try await report(of: refresher)
        try tested.expect(late.token == nil || late.token == newer, "the older sign-in's token was given out.")
        let next = try await setup.acquire()
        try tested.expect(next?.token == newer, "the newer sign-in's token was lost.")
        try await expectAlive(setup, "after that")
    }

    /// Returns a line with the times that the next process took.
    func checkDeaths() async throws -> String {
        var times: [Int] = []
        for point in CrashPoint.names + ["during-write:200", "during-write:1000"] {
            try await times.append(checkDeath(at: point))
        }
        return "DEATH \(store): the next process took \(times.map { "\($0)" }.joined(separator: ", ")) ms"
    }

    /// Returns the milliseconds that the next process took.
    private func checkDeath(at point: String) async throws -> Int {
        let setup = try await setup(grace: .seconds(30))
        let killed = try await setup.worker { $0.crash = point }
        killed.go()
        // The write can finish before the death that was planned for the middle of it.
        let told = try await killed.report()
        if told == nil {
            let status = try await killed.end()
            try tested.expect(status == SIGKILL, "a worker ended with status \(status) where it was to die (\(point)).")
        }
        let next = try await setup.acquire()
        try tested.expect(
            next?.error == nil && next?.token != nil,
            "after a death (\(point)) the next process got this error: \(next?.error ?? "it died too")"
        )
        if let token = told?.token {
            try tested.expect(next?.token == token, "a token that was handed out was not stored (\(point)).")
        }
        try await expectAlive(setup, "after a death (\(point))")
        return Int(next?.milliseconds ?? 0)
    }

    /// Returns a line with the number of deaths, and the time that the next process took at most.
    func checkRandomDeaths() async throws -> String {
        do {
            return "KILLS \(store) \(try await RandomKills(randomDeaths, in: setup(grace: .seconds(30))))"
        } catch let broken as RandomKills.Broken {
            throw TokenCacheConformance.Failure(tested.rule, broken.description)
        }
    }

    private func report(of worker: WorkerProcess) async throws -> WorkerReport {
        guard let report = try await worker.report() else {
            throw TokenCacheConformance.Failure(
                tested.rule,
                "a worker ended with status \(try await worker.end()). Does its program call TokenCacheWorker.run?"
            )
        }
        return report
    }

    private func expectAlive(_ setup: SharedCacheSetup, _ moment: String) async throws {
        let report = try await setup.refresh()
        try tested.expect(
            report?.error == nil && report?.source == "identityProvider",
            "\(moment), a refresh got this error: \(report?.error ?? "none, but no new token either")"
        )
    }
}
