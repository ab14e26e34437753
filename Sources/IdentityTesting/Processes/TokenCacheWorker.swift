// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
public import IdentityClient

/// One of the processes with which
/// ``TokenCacheConformance/runAcrossProcesses(_:processes:randomDeaths:)`` tries a cache.
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
    /// - Throws: ``NotAWorker`` when the process was not started by the kit. What the cache throws is told to the kit.
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
        let (events, inbox) = AsyncStream.makeStream(of: WorkerEvent.self)
        try WorkerEvent.read(into: inbox)
        // What the first one costs would count in the waits of the others.
        _ = try JSONEncoder().encode(WorkerReport())
        say("ready")
        // Not children of this task: one is cancelled, and the others are not.
        var callers: [Task<Void, Never>] = []
        var ended = 0
        for await event in events {
            switch event {
            case .go:
                let number = callers.count
                callers.append(
                    Task {
                        let report = await work.report()
                        if let text = try? JSONEncoder().encode(report) {  // strings and numbers always encode
                            say("\(number) \(String(decoding: text, as: UTF8.self))")
                        }
                        inbox.yield(.ended)
                    }
                )
            case .goOn: work.goOn()
            case .cancel: callers.first { !$0.isCancelled }?.cancel()
            case .ended: ended += 1
            }
            if ended == orders.rounds { return }
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

    /// What a worker says once when it waits for another's lease, if that was asked for.
    static let waiting = "waiting"

    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}

/// What a worker does each time it is told to go.
protocol WorkerTask: Sendable {
    func report() async -> WorkerReport
    /// It has waited at the point where it was to.
    func goOn()
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

    func goOn() {}

    func report() async -> WorkerReport {
        do {
            var done = 0
            while done < increments {
                let record = try await cache.record(for: key)
                let number = record.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
                do {
                    if try await cache.replace(record, with: CacheRecord(text: "\(number + 1)"), for: key) { done += 1 }
                } catch AuthenticationError.Code.cacheBusy {}  // it may say so to some of so many: nothing was written
            }
            return WorkerReport()
        } catch {
            return WorkerReport(error: "\(error)")
        }
    }
}
