// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTesting

/// The result of killing processes at random points.
package struct RandomKills: Sendable {
    /// A record, token or sign-in that did not survive a death.
    package struct Broken: Error, CustomStringConvertible {
        package let description: String
    }

    /// The progress of the killed processes.
    package struct Phases: Sendable {
        /// The number of processes whose request had not reached the provider.
        package fileprivate(set) var beforeRequest = 0
        /// The number of processes whose request had reached the provider, and whose answer was not in the cache.
        package fileprivate(set) var beforeWrite = 0
        /// The number of processes whose answer was in the cache, and whose token was not yet reported.
        package fileprivate(set) var afterWrite = 0

        var areAllCovered: Bool { min(beforeRequest, beforeWrite, afterWrite) > 0 }
    }

    package private(set) var attempts = 0
    /// The deaths of processes at work. A process that had already reported its token is not counted.
    package private(set) var deaths = 0
    package private(set) var phases = Phases()
    /// The longest time, in milliseconds, that the next process took.
    package private(set) var maximumWait = 0.0
    /// The last undisturbed refresh.
    private var last: Refresh

    /// From this number of deaths on, each stage must have at least one. Fewer deaths do not reach each stage reliably.
    private static let enoughForEachPhase = 200

    /// Lets processes refresh and kills them with SIGKILL at random moments, until `count` of them have died at work.
    /// Of two hundred deaths or more, at least one must come before the request, one before the write and one after it.
    ///
    /// The provider must answer a refresh token once more after a rotation, as real providers do for a while. Every
    /// death must then be survived: the cache opens, it holds the token that was reported, and the next process gets a
    /// new token. The moments lie within 1.2 times the duration of the last undisturbed refresh, so that some come too
    /// late. Every second moment is counted from the arrival of the request at the provider, because most of the time
    /// passes before that.
    ///
    /// - Throws: ``Broken`` for the first death that was not survived, or if three times as many attempts were not
    ///   enough.
    package init(_ count: Int, in setup: SharedCacheSetup) async throws {
        last = try await Refresh("the first process", by: setup.worker { $0.forces = true }, in: setup)
        while deaths < count || (count >= Self.enoughForEachPhase && !phases.areAllCovered) {
            guard attempts < 3 * count + 10 else {
                throw Broken(description: "too few were at work when they were killed, or none at one stage: \(self).")
            }
            attempts += 1
            try await tryOne(in: setup)
        }
    }

    private mutating func tryOne(in setup: SharedCacheSetup) async throws {
        let killed = try await setup.worker { $0.forces = true }
        let next = try await setup.worker { $0.forces = true }
        let sent = setup.provider.count(of: .token)
        let isAfterRequest = attempts.isMultiple(of: 2)
        let moment = (isAfterRequest ? last.afterRequest : last.whole) * 1.2 * Double.random(in: 0...1)
        killed.go()
        if isAfterRequest { try await setup.provider.waitForRequest(.token, count: sent + 1) }
        try await Task.sleep(for: moment)  // the moment is what is tried
        killed.terminate()
        let isKilled = try await killed.end() == SIGKILL
        let occasion = "attempt \(attempts), killed \(moment) after \(isAfterRequest ? "the request" : "its begin")"
        let acknowledged = try await killed.report()?.token
        let cached = try await Refresh.token("\(occasion): the process that asks the cache", setup.acquire())
        if let acknowledged, cached != acknowledged {
            throw Broken(description: "\(occasion): a token that was handed out was not stored.")
        }
        if isKilled, acknowledged == nil {
            deaths += 1
            if cached != last.token {
                phases.afterWrite += 1
            } else if setup.provider.count(of: .token) > sent {
                phases.beforeWrite += 1
            } else {
                phases.beforeRequest += 1
            }
        }
        last = try await Refresh("\(occasion): the process that refreshes", by: next, in: setup)
        maximumWait = max(maximumWait, last.milliseconds)
    }
}

/// An undisturbed refresh.
private struct Refresh: Sendable {
    let token: String
    /// The duration measured by the process itself.
    let milliseconds: Double
    /// The durations since the process was told to begin, and since the request reached the provider.
    let whole, afterRequest: Duration

    init(_ process: String, by worker: WorkerProcess, in setup: SharedCacheSetup) async throws {
        let sent = setup.provider.count(of: .token)
        let begin = ContinuousClock.now
        worker.go()
        do {
            try await setup.provider.waitForRequest(.token, count: sent + 1)
        } catch {
            _ = try await Self.token(process, worker.report())  // why it sent none
            throw error
        }
        let request = ContinuousClock.now
        let told = try await worker.timedReport()
        token = try Self.token(process, told?.report)
        milliseconds = told?.report.milliseconds ?? 0
        let end = told?.time ?? request
        (whole, afterRequest) = (begin.duration(to: end), request.duration(to: end))
    }

    static func token(_ process: String, _ report: WorkerReport?) throws -> String {
        guard let report, report.error == nil, let token = report.token else {
            throw RandomKills.Broken(
                description: "\(process) got this error: \(report?.error ?? "it died, or said nothing")."
            )
        }
        return token
    }
}

extension RandomKills: CustomStringConvertible {
    /// A summary. `Scripts/soak` reads its first and third words.
    package var description: String {
        """
        \(deaths) of \(attempts) died, \(phases.beforeRequest) before the request, \
        \(phases.beforeWrite) between it and the write, \(phases.afterWrite) after it; \
        the next one took at most \(Int(maximumWait)) ms
        """
    }
}
