// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension TokenCacheConformance {
    /// Checks, with real processes, the promises on which programs that share a storage rely.
    ///
    /// The processes refresh a token at a loopback provider that treats a refresh token used twice as stolen, and some
    /// are killed in the middle. The run takes some ten seconds and needs libcurl. It works in cache groups with random
    /// names and empties them in the end.
    ///
    /// ```swift
    /// @Test(.timeLimit(.minutes(5))) func conformsAcrossProcesses() async throws {
    ///     try await TokenCacheConformance { try MyCache(path: path) }.runAcrossProcesses([worker, path])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - command: The path of a program that ends in ``TokenCacheWorker/run(_:)``, and the arguments with which it
    ///     opens a cache on the same storage.
    ///   - processes: The number of processes that act at the same time; 20 by default.
    ///   - randomDeaths: The number of processes that die at random moments; 10 by default. Some hundreds find defects
    ///     that ten do not.
    /// - Returns: Lines with the times that processes waited, for a log. They begin with `WAITS` (all at once, for a
    ///   provider that takes 50 ms), `DEATH` and `KILLS` (the next process, after a death).
    /// - Throws: ``Failure`` for the first broken rule, also if the workers cannot be started, or if a rule takes more
    ///   than two minutes plus three seconds for each random death; `CancellationError`.
    @discardableResult
    public func runAcrossProcesses(
        _ command: [String],
        processes: Int = 20,
        randomDeaths: Int = 10
    ) async throws -> [String] {
        var lines: [String] = []
        for rule in Rule.acrossProcesses {
            if let line = try await run(rule, command, processes, randomDeaths) { lines.append(line) }
        }
        return lines
    }

    private func run(
        _ rule: Rule,
        _ command: [String],
        _ processes: Int,
        _ randomDeaths: Int
    ) async throws -> String? {
        let extra = rule == .processRandomDeath ? 3 * randomDeaths : 0
        return try await bounded(by: .seconds(120 + extra), rule, ending: Self.clearingLimit) {
            let tested = try await TestedCache(cache: make(), rule: rule, group: TestedCache.randomGroup())
            let proof = ProcessProof(tested: tested, command: command, processes: processes, randomDeaths: randomDeaths)
            return try await tested.clearing { try await check(rule, proof) }
        }
    }

    private func check(_ rule: Rule, _ proof: ProcessProof) async throws -> String? {
        switch rule {
        case .processIncrements: try await proof.checkIncrements()
        case .processRefresh: return try await proof.checkOneRefresh()
        case .processSignOut: try await proof.checkSignOut()
        case .processSignIn: try await proof.checkSignIn()
        case .processDeath: return try await proof.checkDeaths()
        case .processRandomDeath: return try await proof.checkRandomDeaths()
        default: throw Failure(rule, "this kit does not know the rule.")
        }
        return nil
    }
}

extension TokenCacheConformance.Rule {
    /// All increments by several processes are counted.
    public static let processIncrements = Self(
        rawValue: "Concurrent increments by several processes are all counted."
    )
    /// Many processes with the same expired token send one refresh.
    public static let processRefresh = Self(
        rawValue: "Processes that need the same token at the same time send one refresh between them."
    )
    /// A signed-out account stays signed out.
    public static let processSignOut = Self(
        rawValue: "An account that another process removes during a refresh does not come back."
    )
    /// A newer sign-in is kept.
    public static let processSignIn = Self(
        rawValue: "A sign-in during another process's refresh is kept."
    )
    /// A death at a step named by the kit does no harm.
    public static let processDeath = Self(
        rawValue: "A process that is killed at any step of a refresh leaves a cache that the next one can use."
    )

    /// A death at a random moment does no harm.
    public static let processRandomDeath = Self(
        rawValue: "A process that is killed at any moment of a refresh leaves a cache that the next one can use."
    )

    /// The rules of ``TokenCacheConformance/runAcrossProcesses(_:processes:randomDeaths:)``, in the order in which they
    /// are checked.
    public static let acrossProcesses: [TokenCacheConformance.Rule] = [
        .processIncrements, .processRefresh, .processSignOut, .processSignIn, .processDeath,
        .processRandomDeath,
    ]
}
