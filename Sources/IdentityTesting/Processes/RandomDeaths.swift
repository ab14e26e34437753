// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// What came of deaths at points that nobody chose.
package struct RandomDeaths: Sendable {
    /// What did not survive one.
    package struct Broken: Error, CustomStringConvertible {
        package let description: String
    }

    package private(set) var attempts = 0
    package private(set) var deaths = 0
    /// Milliseconds that the next process took at most.
    package private(set) var longest = 0.0

    /// Lets processes refresh and kills them with SIGKILL at random moments, until that many have died.
    ///
    /// The provider has to answer a refresh token once more, as real ones do for a while: so every death must be
    /// survived. The cache opens, it has what was told, and the next process gets a new token.
    ///
    /// - Throws: ``Broken`` for the first death that was not survived.
    package init(_ count: Int, in house: Household) async throws {
        _ = try await Self.token("the first process", house.acquire())
        while deaths < count {
            attempts += 1
            guard attempts <= 2 * count + 10 else {
                throw Broken(description: "of \(attempts) processes only \(deaths) were at work when they were killed.")
            }
            try await tryOne(in: house)
        }
    }

    private mutating func tryOne(in house: Household) async throws {
        let victim = try await house.worker { $0.forces = true }
        let next = try await house.worker { $0.forces = true }
        let moment = Duration.microseconds(Int.random(in: 0...20_000))
        victim.go()
        try await Task.sleep(for: moment)  // the moment is what is tried
        victim.terminate()
        if try await victim.end() == SIGKILL { deaths += 1 }
        let occasion = "attempt \(attempts), killed after \(moment)"
        let acknowledged = try await victim.report()?.token
        let cached = try await Self.token("\(occasion): who asks the cache", house.acquire()).token
        if let acknowledged, cached != acknowledged {
            throw Broken(description: "\(occasion): a token that was handed out was not stored.")
        }
        next.go()
        longest = max(longest, try await Self.token("\(occasion): who refreshes", next.report()).milliseconds)
    }

    private static func token(_ who: String, _ report: WorkerReport?) throws -> WorkerReport {
        guard let report, report.error == nil, report.token != nil else {
            throw Broken(description: "\(who) got this error: \(report?.error ?? "it died, or said nothing").")
        }
        return report
    }
}
