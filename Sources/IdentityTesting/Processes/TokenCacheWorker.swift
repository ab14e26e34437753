// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
public import IdentityClient

/// One of the processes with which ``TokenCacheConformance/runAcrossProcesses(_:processes:)`` tries a cache.
///
/// A helper of three lines is enough, as an executable target beside the tests; so is any program that begins with it:
///
/// ```swift
/// @main struct CacheWorker {
///     static func main() async throws {
///         try await TokenCacheWorker.run(SQLiteTokenCache(path: CommandLine.arguments[1]))
///     }
/// }
/// ```
public enum TokenCacheWorker {
    /// Whether this process was started as a worker.
    public static var isWanted: Bool { environment(WorkerOrders.variable) != nil }

    /// Does what the conformance kit asks for, and returns when that is done or nobody asks any more.
    ///
    /// It talks to the kit by standard input and output: print nothing there. Some of its tasks are to die in the middle,
    /// so run nothing else in the process.
    ///
    /// - Parameter cache: The cache in question, on the same storage as the kit's.
    /// - Throws: ``NotAWorker`` when the process was not started by the kit; what the cache throws before the first task.
    public static func run(_ cache: any TokenCache) async throws {
        guard let text = environment(WorkerOrders.variable),
            let orders = try? JSONDecoder().decode(WorkerOrders.self, from: Data(text.utf8))
        else { throw NotAWorker() }
        let work: any WorkerTask
        if orders.issuer == nil {
            work = try CountingTask(orders, cache)
        } else {
            work = try await AcquiringTask(orders, cache)
        }
        let signals = try WorkerInput.bytes()
        say("ready")
        var rounds = 0
        for await _ in signals {
            say(String(decoding: try JSONEncoder().encode(await work.report()), as: UTF8.self))
            rounds += 1
            if rounds == orders.rounds { return }
        }
    }

    /// The process was not started by the conformance kit.
    public struct NotAWorker: Error, CustomStringConvertible {
        /// What to do about it.
        public var description: String {
            "This program is a worker of TokenCacheConformance: name it to runAcrossProcesses, do not start it yourself."
        }
    }

    private static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}

/// What a worker does each time it is told to go.
protocol WorkerTask: Sendable {
    func report() async -> WorkerReport
}

/// Acquires a token silently, or signs out.
private struct AcquiringTask: WorkerTask {
    private let orders: WorkerOrders
    private let application: PublicClientApplication
    private let account: Account?

    init(_ orders: WorkerOrders, _ cache: any TokenCache) async throws {
        let point = orders.crash.flatMap(CrashPoint.init)
        var configuration = PublicClientApplication.Configuration(
            clientID: ClientID(rawValue: orders.clientID),
            authority: try .openIDConnect(issuer: orders.issuer ?? ""),
            cache: FatalCache(cache, diesAt: point)
        )
        configuration.cacheGroup = try CacheGroup(orders.group)
        configuration.transport = FatalTransport(CurlTransport(), diesAt: point)
        configuration.clock = OffsetClock(offset: orders.clockOffset)
        configuration.requestTimeout = .seconds(15)
        self.orders = orders
        application = try PublicClientApplication(configuration)
        account = try await application.allAccounts().first { orders.username == nil || $0.username == orders.username }
    }

    func report() async -> WorkerReport {
        guard let account else { return WorkerReport(error: "no_account") }
        let begin = ContinuousClock.now
        var report = WorkerReport()
        do {
            if orders.removes { try await application.remove(account) } else { try await acquire(account, &report) }
        } catch let error as AuthenticationError {
            report.error = error.shortDescription
            report.retryAfter = error.retryAfter.map { Int($0.components.seconds) }
        } catch {
            report.error = "\(type(of: error))"
        }
        report.milliseconds = begin.duration(to: .now) / .milliseconds(1)
        return report
    }

    private func acquire(_ account: Account, _ report: inout WorkerReport) async throws {
        let parameters = SilentParameters(
            scopes: [Scope(rawValue: orders.scope)],
            account: account,
            forcesRefresh: orders.forces
        )
        let result = try await application.acquireTokenSilently(parameters)
        report.token = result.accessToken
        report.source = result.source.rawValue
        if case .failed(let error) = result.persistence { report.unsaved = error.shortDescription }
    }
}

/// Counts a record up by compare-and-replace.
private struct CountingTask: WorkerTask {
    private let cache: any TokenCache
    private let key: CacheKey
    private let increments: Int

    init(_ orders: WorkerOrders, _ cache: any TokenCache) throws {
        self.cache = cache
        key = CacheKey(group: try CacheGroup(orders.group), kind: .account, name: orders.counter ?? "")
        increments = orders.increments
    }

    func report() async -> WorkerReport {
        do {
            var done = 0
            while done < increments {
                let record = try await cache.record(for: key)
                let number = record.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
                do {
                    if try await cache.replace(record, with: CacheRecord(text: "\(number + 1)"), for: key) { done += 1 }
                } catch AuthenticationError.cacheBusy {}  // it may say so to some of so many: nothing was written
            }
            return WorkerReport()
        } catch {
            return WorkerReport(error: "\(error)")
        }
    }
}

/// The computer's clock, wrong by a constant.
private struct OffsetClock: WallClock {
    let offset: Double

    var now: Date { Date.now.addingTimeInterval(offset) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
