// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// What came of deaths at points that nobody chose.
package struct RandomDeaths: Sendable {
    /// What did not survive one.
    package struct Broken: Error, CustomStringConvertible {
        package let description: String
    }

    /// How far those came that died.
    package struct Stages: Sendable {
        /// The provider has not seen their request.
        package fileprivate(set) var beforeRequest = 0
        /// It has, and the cache does not hold what it answered.
        package fileprivate(set) var beforeWrite = 0
        /// The cache holds it, and they had not told their token yet.
        package fileprivate(set) var afterWrite = 0

        var areAllHit: Bool { min(beforeRequest, beforeWrite, afterWrite) > 0 }
    }

    package private(set) var attempts = 0
    /// Of processes at work: one that has told its token before is not counted.
    package private(set) var deaths = 0
    package private(set) var stages = Stages()
    /// Milliseconds that the next process took at most.
    package private(set) var longest = 0.0
    /// The last one that nobody disturbed.
    private var last: Refresh

    /// From so many deaths on each stage has to be among them: fewer do not hit each one reliably.
    private static let enoughForEachStage = 200

    /// Lets processes refresh and kills them with SIGKILL at random moments, until that many have died at work; of two
    /// hundred or more, at least one before the request, one before the write and one after it.
    ///
    /// The provider has to answer a refresh token once more, as real ones do for a while: so every death must be
    /// survived. The cache opens, it has what was told, and the next process gets a new token. The moments lie within
    /// the time that the last undisturbed refresh took, and a fifth more, so that some come too late. Every second one
    /// is counted from when the provider has the request, since most of the time goes by before that.
    ///
    /// - Throws: ``Broken`` for the first death that was not survived, or when three times as many attempts did not do.
    package init(_ count: Int, in house: Household) async throws {
        last = try await Refresh("the first process", by: house.worker { $0.forces = true }, in: house)
        while deaths < count || (count >= Self.enoughForEachStage && !stages.areAllHit) {
            guard attempts < 3 * count + 10 else {
                throw Broken(description: "too few were at work when they were killed, or none at one stage: \(self).")
            }
            attempts += 1
            try await tryOne(in: house)
        }
    }

    private mutating func tryOne(in house: Household) async throws {
        let victim = try await house.worker { $0.forces = true }
        let next = try await house.worker { $0.forces = true }
        let sent = house.provider.count(of: .token)
        let isAfterRequest = attempts.isMultiple(of: 2)
        let moment = (isAfterRequest ? last.afterRequest : last.whole) * 1.2 * Double.random(in: 0...1)
        victim.go()
        if isAfterRequest { try await house.provider.waitForRequest(.token, count: sent + 1) }
        try await Task.sleep(for: moment)  // the moment is what is tried
        victim.terminate()
        let isKilled = try await victim.end() == SIGKILL
        let occasion = "attempt \(attempts), killed \(moment) after \(isAfterRequest ? "the request" : "its begin")"
        let acknowledged = try await victim.report()?.token
        let cached = try await Refresh.token("\(occasion): who asks the cache", house.acquire())
        if let acknowledged, cached != acknowledged {
            throw Broken(description: "\(occasion): a token that was handed out was not stored.")
        }
        if isKilled, acknowledged == nil {
            deaths += 1
            if cached != last.token {
                stages.afterWrite += 1
            } else if house.provider.count(of: .token) > sent {
                stages.beforeWrite += 1
            } else {
                stages.beforeRequest += 1
            }
        }
        last = try await Refresh("\(occasion): who refreshes", by: next, in: house)
        longest = max(longest, last.milliseconds)
    }
}

/// A refresh that nobody disturbs.
private struct Refresh: Sendable {
    let token: String
    /// As the process itself counts them.
    let milliseconds: Double
    /// How long it took since the process was told to begin, and since the provider has had the request.
    let whole, afterRequest: Duration

    init(_ who: String, by worker: WorkerProcess, in house: Household) async throws {
        let sent = house.provider.count(of: .token)
        let begin = ContinuousClock.now
        worker.go()
        do {
            try await house.provider.waitForRequest(.token, count: sent + 1)
        } catch {
            _ = try await Self.token(who, worker.report())  // why it sent none
            throw error
        }
        let request = ContinuousClock.now
        let told = try await worker.timedReport()
        token = try Self.token(who, told?.report)
        milliseconds = told?.report.milliseconds ?? 0
        let end = told?.time ?? request
        (whole, afterRequest) = (begin.duration(to: end), request.duration(to: end))
    }

    static func token(_ who: String, _ report: WorkerReport?) throws -> String {
        guard let report, report.error == nil, let token = report.token else {
            throw RandomDeaths.Broken(
                description: "\(who) got this error: \(report?.error ?? "it died, or said nothing")."
            )
        }
        return token
    }
}

extension RandomDeaths: CustomStringConvertible {
    /// `Scripts/soak` reads the first and the third word.
    package var description: String {
        """
        \(deaths) of \(attempts) died, \(stages.beforeRequest) before the request, \
        \(stages.beforeWrite) between it and the write, \(stages.afterWrite) after it; \
        the next one took at most \(Int(longest)) ms
        """
    }
}
