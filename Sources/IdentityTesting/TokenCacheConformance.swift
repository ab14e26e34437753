// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// Proves that a token cache keeps what `TokenCache` promises.
///
/// ```swift
/// @Test func conforms() async throws {
///     try await TokenCacheConformance { try MyRedisCache(url: url) }.run()
/// }
/// ```
///
/// It works in cache groups with random names and removes what it stored, also where a rule is broken, takes too long or is
/// cancelled. So it may be pointed at storage that is in use. It needs no testing library.
public struct TokenCacheConformance: Sendable {
    /// Whether all caches that `make` gives have the same records, as those on one file or server have.
    public var isShared: Bool

    /// How many records the cost of a lookup is measured at, against the cost at 10; `nil` leaves the measurement out.
    public var costRecords: Int?

    /// How long a call on behalf of a cancelled task, or a hint, may take. 5 s unless set.
    public var timeout: Duration = .seconds(5)

    /// How long a rule may take; the one about the cost ten times as long.
    package var timeLimit: Duration = .seconds(60)

    /// How long the removal may take of what a rule has stored that took too long.
    static let clearingLimit: Duration = .seconds(60)

    let make: @Sendable () async throws -> any TokenCache

    /// Says how to make the cache in question.
    ///
    /// - Parameters:
    ///   - isShared: Whether all caches that `make` gives have the same records. `false` for a cache that is private to
    ///     its instance: then nothing is asked about two of them.
    ///   - costRecords: How many records the cost of a lookup is measured at, against the cost at 10. `nil` leaves the
    ///     measurement out, for storage in which so many take minutes.
    ///   - make: Gives a cache; it is called once or twice for each rule.
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
    /// - Throws: ``Failure`` for the first rule that is broken, also when the cache throws or takes more than a minute
    ///   (ten for the cost) for one rule; `CancellationError`. What the rule had stored is removed before, for which
    ///   another minute is given.
    public func run() async throws {
        for rule in Rule.all { try await run(rule) }
    }

    /// Checks one rule.
    ///
    /// - Throws: ``Failure`` when it is broken, `CancellationError`.
    public func run(_ rule: Rule) async throws {
        switch rule {
        case .twoInstances where !isShared, .freshness where !isShared, .sharedIncrements where !isShared: return
        case .flatCost where costRecords == nil: return
        default: break
        }
        let limit = rule == .flatCost ? timeLimit * 10 : timeLimit
        try await bounded(by: limit, rule, ending: Self.clearingLimit) {
            let room = try await Room(cache: make(), rule: rule, group: Room.randomGroup())
            try await room.clearing { try await check(rule, in: room) }
        }
    }

    private func check(_ rule: Rule, in room: Room) async throws {
        switch rule {
        case .absence: try await room.checkAbsence()
        case .roundTrip: try await room.checkRoundTrip()
        case .insertIfAbsent: try await room.checkInsertIfAbsent()
        case .refusedReplace: try await room.checkRefusedReplace()
        case .comparesContent: try await room.checkComparesContent()
        case .removal: try await room.checkRemoval()
        case .listing: try await room.checkListing()
        case .emptyRecord: try await room.checkContent([])
        case .largeRecords:
            for size in [64 << 10, 1 << 20] {
                try await room.checkContent((0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
            }
        case .twoInstances: try await room.checkReopening(with: make())
        case .freshness: try await room.checkFreshness(with: make())
        case .increments: try await room.checkIncrements(with: room.cache)
        case .sharedIncrements: try await room.checkIncrements(with: make())
        case .cancellation: try await checkCancellation(in: room)
        case .writabilityCheck: try await room.checkWritabilityCheck()
        case .hints: try await checkHints(in: room)
        case .flatCost: try await room.checkFlatCost(records: costRecords ?? 0)
        default: throw Failure(rule, "this kit does not know the rule.")
        }
    }
}
