// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
public import IdentityClient

/// A process with which ``TokenCacheConformance/runAcrossProcesses(_:processes:randomDeaths:)`` checks a cache.
///
/// A helper of three lines, as an executable target beside the tests, is enough. Any program that begins with this call
/// will do:
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

    /// Performs the conformance kit's requests, and returns when they are done or the kit closes the connection.
    ///
    /// The worker talks to the kit by standard input and output, so print nothing there. Some of its tasks kill the
    /// process, so run nothing else in it.
    ///
    /// - Parameter cache: The cache to check, on the same storage as the kit's.
    /// - Throws: ``NotAWorker`` if the kit did not start the process. Errors of the cache are reported to the kit.
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
        // Encodes once in advance, so that the cost of the first encoding does not count in the measured waits.
        _ = try JSONEncoder().encode(WorkerReport())
        say("ready")
        // Not child tasks: a single caller must be cancelled without the others.
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
    ///
    /// ```swift
    /// guard TokenCacheWorker.isWanted else { return print(TokenCacheWorker.NotAWorker()) }
    /// ```
    public struct NotAWorker: Error, CustomStringConvertible {
        /// The problem and the remedy: pass this program to the conformance kit, which starts it.
        public var description: String {
            "This program is a worker of TokenCacheConformance: name it to runAcrossProcesses, do not start it yourself."
        }
    }

    private static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The line that a worker prints once when it waits for another process's lease, if the kit asked for it.
    static let waiting = "waiting"

    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}

/// The action of a worker each time it is told to go.
protocol WorkerTask: Sendable {
    func report() async -> WorkerReport
    /// Ends the wait at the point where the worker paused.
    func goOn()
}

/// Increments a record by compare-and-replace.
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
