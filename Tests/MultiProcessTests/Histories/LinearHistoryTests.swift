// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityCacheTesting
import IdentityTestSupport
import Testing

/// Twenty processes read, replace and remove three records at once, while some are stopped or killed and the clocks step.
/// Each writes down the times of call and return; the history of each record is that of one register.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LinearHistoryTests {
    /// A file of other programs has no records of any content, but accounts.
    private static let stores = Store.chosen.filter { $0 != .shared && $0 != .sharedItem }

    @Test(arguments: stores) func everyHistoryIsLinearizable(_ store: Store) async throws {
        for _ in 0..<max(1, Repetitions.count / 3) {
            let run = try await HistoryRun(store)
            #expect(try run.violations() == [])
            #expect(run.operations > 100 && run.deaths > 0 && run.stops > 0)
            print("HISTORY \(store) \(run)")
            fflush(nil)
        }
    }

    /// The worker makes the mistake, in a cache around the real one.
    @Test(arguments: ["stale-read", "lost-write"]) func findsTheMistake(_ mistake: String) async throws {
        #expect(try await HistoryRun(.file, mistake: mistake).violations() != [])
    }
}

/// The processes of one history, which end by themselves or are killed, and what they wrote down.
private struct HistoryRun: CustomStringConvertible {
    private(set) var stops = 0
    private(set) var deaths = 0
    private(set) var steps = 0
    private var logs: [String] = []
    private var records: [String: [HistoryOperation]] = [:]

    var operations: Int { records.values.reduce(0) { $0 + $1.count } }

    var description: String {
        let unknown = records.values.joined().count { $0.end == nil }
        return "\(operations) operations of \(logs.count) processes, \(unknown) without a known end, \(stops) stops, "
            + "\(deaths) deaths, \(steps) steps of the clocks"
    }

    init(_ store: Store, mistake: String = "none") async throws {
        let storage = try Storage(store)
        let clock = try SteppedClock()
        let count = store == .keyring || mistake != "none" ? 20 : 40
        let group = "history-\(UInt32.random(in: .min ... .max))"
        func start() throws -> WorkerProcess {
            let log = "\(storage.directory.path)/history-\(logs.count)"
            logs.append(log)
            return try WorkerProcess(
                clock.entering + storage.command.prefix(1) + ["history", group, log, "\(count)", mistake]
                    + storage.command.dropFirst(),
                orders: WorkerOrders(group: group)
            )
        }
        var workers: [WorkerProcess] = []
        func startOne() async throws -> WorkerProcess {
            let worker = try start()
            try await worker.ready()
            worker.go()
            workers.append(worker)
            return worker
        }
        for _ in 0..<20 { workers.append(try start()) }
        for worker in workers { try await worker.ready() }
        for worker in workers { worker.go() }
        let deadline = ContinuousClock.now + .seconds(45)
        while ContinuousClock.now < deadline {
            // On a busy machine all may have ended before the first death: then one more is started, for what has not happened.
            let missing = deaths == 0 ? 0 : stops == 0 ? 1 : nil
            let living = workers.filter { !$0.hasEnded }.randomElement()
            guard living != nil || missing != nil else { break }
            let victim: WorkerProcess
            if let living { victim = living } else { victim = try await startOne() }
            switch living == nil ? missing ?? 0 : Int.random(in: 0..<10) {
            case 0 where deaths < 8:
                if !victim.hasEnded { deaths += 1 }
                victim.terminate()
                _ = try await startOne()
            case 1..<8:
                if !victim.hasEnded { stops += 1 }
                kill(victim.process, SIGSTOP)
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...40)))
                kill(victim.process, SIGCONT)
            default:
                steps += 1
                // A sleep of a day would end most calls with a time-out, which says little.
                let pause = Duration.milliseconds(Int.random(in: 0...50))
                try clock.step(real: .seconds(Int.random(in: -86_400...86_400)), monotonic: pause, boot: pause)
            }
        }
        for worker in workers { try await worker.end() }
        for log in logs {
            // A process that was killed at its start has none.
            guard let text = try? String(contentsOfFile: log, encoding: .utf8) else { continue }
            for (record, operation) in HistoryOperation.log(text) { records[record, default: []].append(operation) }
        }
    }

    func violations() throws -> [String] {
        try records.sorted { $0.key < $1.key }.compactMap { record, operations in
            try HistoryCheck(operations).violation().map { "\(record): \($0)" }
        }
    }
}
