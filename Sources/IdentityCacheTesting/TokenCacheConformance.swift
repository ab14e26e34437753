// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
public import IdentityClient

/// A check that a token cache keeps the promises of `TokenCache`.
///
/// ```swift
/// @Test func conforms() async throws {
///     try await TokenCacheConformance { try MyRedisCache(url: url) }.run()
/// }
/// ```
///
/// It works in cache groups with random names and removes the records that it stored, even if a rule is broken, takes
/// too long or is cancelled. You can therefore point it at storage that is in use. It needs no testing library.
public struct TokenCacheConformance: Sendable {
    /// Whether all caches that `make` returns share their records, like caches on the same file or server.
    public var isShared: Bool

    /// The number of records at which the cost of a lookup is compared with the cost at 10; `nil` skips the
    /// measurement.
    public var costRecords: Int?

    /// How long a call by a cancelled task, or a hint, may take. The default is 5 s.
    public var timeout: Duration = .seconds(5)

    /// Receives a line about what is being checked, if a rule takes longer than five seconds: then, and with each step of the cost.
    /// The default prints it to standard error.
    public var report: @Sendable (String) -> Void = { StandardError.write("Token cache conformance: \($0)\n") }

    /// After how much time a rule is reported.
    package var reportDelay: Duration = .seconds(5)

    /// How long a rule may take. The rule about the cost may take ten times as long.
    package var timeLimit: Duration = .seconds(60)

    /// How long removing the records of a rule that took too long may take.
    static let clearingLimit: Duration = .seconds(60)

    let make: @Sendable () async throws -> any TokenCache

    /// Creates a check of the caches that `make` returns.
    ///
    /// - Parameters:
    ///   - isShared: Whether all caches that `make` returns share their records. Use `false` for a cache that is
    ///     private to its instance; the rules about two caches are then skipped.
    ///   - costRecords: The number of records up to which the cost of a lookup is compared with the cost at 10: three times as
    ///     many in each step, until the cost has grown. `nil` skips the measurement, for storage in which writing so many records
    ///     takes minutes.
    ///   - make: Returns a cache. It is called once or twice for each rule.
    public init(
        isShared: Bool = true,
        costRecords: Int? = 10_000,
        _ make: @escaping @Sendable () async throws -> any TokenCache
    ) {
        self.isShared = isShared
        self.costRecords = costRecords
        self.make = make
    }

    /// Checks every rule, one after the other.
    ///
    /// - Throws: ``Failure`` for the first broken rule, also if the cache throws or takes more than a minute (ten for
    ///   the cost) for one rule; `CancellationError`. The records that the rule stored are removed first, for which
    ///   another minute is allowed.
    public func run() async throws {
        for rule in Rule.all { try await run(rule) }
    }

    /// Checks one rule.
    ///
    /// - Throws: ``Failure`` if the rule is broken; `CancellationError`.
    public func run(_ rule: Rule) async throws {
        switch rule {
        case .twoInstances where !isShared, .freshness where !isShared, .sharedIncrements where !isShared: return
        case .flatCost where costRecords == nil: return
        default: break
        }
        let limit = rule == .flatCost ? timeLimit * 10 : timeLimit
        let (report, delay) = (report, reportDelay)
        let reporting = Task {
            try await Task.sleep(for: delay)
            report("Still checking: \(rule) This may take up to \(limit).")
        }
        defer { reporting.cancel() }
        try await bounded(by: limit, rule, ending: Self.clearingLimit) {
            let tested = try await TestedCache(cache: make(), rule: rule, group: TestedCache.randomGroup())
            try await tested.clearing { try await check(rule, in: tested) }
        }
    }

    private func check(_ rule: Rule, in tested: TestedCache) async throws {
        switch rule {
        case .absence: try await tested.checkAbsence()
        case .roundTrip: try await tested.checkRoundTrip()
        case .insertIfAbsent: try await tested.checkInsertIfAbsent()
        case .refusedReplace: try await tested.checkRefusedReplace()
        case .comparesContent: try await tested.checkComparesContent()
        case .removal: try await tested.checkRemoval()
        case .listing: try await tested.checkListing()
        case .emptyRecord: try await tested.checkContent([])
        case .largeRecords:
            for size in [64 << 10, 1 << 20] {
                try await tested.checkContent((0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
            }
        case .twoInstances: try await tested.checkReopening(with: make())
        case .freshness: try await tested.checkFreshness(with: make())
        case .increments: try await tested.checkIncrements(with: tested.cache)
        case .sharedIncrements: try await tested.checkIncrements(with: make())
        case .cancellation: try await checkCancellation(in: tested)
        case .writabilityCheck: try await tested.checkWritabilityCheck()
        case .reservation: try await tested.checkReservation(beside: isShared ? make() : nil)
        case .hints: try await checkHints(in: tested)
        case .flatCost:
            let begin = ContinuousClock.now
            try await tested.checkFlatCost(records: costRecords ?? 0) { count in
                if begin.duration(to: .now) >= reportDelay { report("The cost of a lookup among \(count) records.") }
            }
        default: throw Failure(rule, "this kit does not know the rule.")
        }
    }
}

/// The stream for a person who waits.
private enum StandardError {
    static func write(_ line: String) {
        let bytes = Array(line.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
