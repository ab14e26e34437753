// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension TokenCacheConformance {
    /// Checks what programs that share the storage rely on, with real processes.
    ///
    /// They refresh a token of a provider on the loopback interface that takes a refresh token used twice for a stolen
    /// one, and some are killed in the middle. It takes some ten seconds and needs libcurl. All happens in cache groups
    /// with random names, which are emptied in the end. How long processes waited is printed, in lines that begin with
    /// `WAITS` (all at once, for a provider that takes 50 ms), `DEATH` and `KILLS` (the next one, after a death).
    ///
    /// ```swift
    /// @Test(.timeLimit(.minutes(5))) func conformsAcrossProcesses() async throws {
    ///     try await TokenCacheConformance { try MyCache(path: path) }.runAcrossProcesses([worker, path])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - command: The path of a program that ends in ``TokenCacheWorker/run(_:)``, and its arguments: enough for it to
    ///     open a cache on the same storage.
    ///   - processes: How many try the same at once; 20 unless given.
    ///   - randomDeaths: How many processes die at random moments; 10 unless given. Some hundreds find what ten do not.
    /// - Throws: ``Failure`` for the first rule that is broken, also when the workers cannot be started, or a rule takes
    ///   more than two minutes, and three seconds for each random death; `CancellationError`.
    public func runAcrossProcesses(_ command: [String], processes: Int = 20, randomDeaths: Int = 10) async throws {
        for rule in Rule.acrossProcesses { try await run(rule, command, processes, randomDeaths) }
    }

    private func run(_ rule: Rule, _ command: [String], _ processes: Int, _ randomDeaths: Int) async throws {
        let extra = rule == .processRandomDeath ? 3 * randomDeaths : 0
        try await bounded(by: .seconds(120 + extra), rule, ending: Self.clearingLimit) {
            let room = try await Room(cache: make(), rule: rule, group: Room.randomGroup())
            let proof = ProcessProof(room: room, command: command, processes: processes, randomDeaths: randomDeaths)
            try await room.clearing { try await check(rule, proof) }
        }
    }

    private func check(_ rule: Rule, _ proof: ProcessProof) async throws {
        switch rule {
        case .processIncrements: try await proof.checkIncrements()
        case .processRefresh: try await proof.checkOneRefresh()
        case .processSignOut: try await proof.checkSignOut()
        case .processSignIn: try await proof.checkSignIn()
        case .processDeath: try await proof.checkDeaths()
        case .processRandomDeath: try await proof.checkRandomDeaths()
        default: throw Failure(rule, "this kit does not know the rule.")
        }
    }
}

extension TokenCacheConformance.Rule {
    /// Increments by several processes are all counted.
    public static let processIncrements = Self(
        rawValue: "Concurrent increments by several processes are all counted."
    )
    /// Many processes with one expired token send one refresh.
    public static let processRefresh = Self(
        rawValue: "Processes that need the same token at the same time send one refresh between them."
    )
    /// Who was signed out stays so.
    public static let processSignOut = Self(
        rawValue: "An account that another process removes during a refresh does not come back."
    )
    /// A newer sign-in is kept.
    public static let processSignIn = Self(
        rawValue: "A sign-in during another process's refresh is kept."
    )
    /// A death at a step that the kit names does no harm.
    public static let processDeath = Self(
        rawValue: "A process that is killed at any step of a refresh leaves a cache that the next one can use."
    )

    /// A death at a moment that nobody chose does no harm.
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
