// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

@testable import IdentityClient

/// Mistakes that are made on purpose, to see that the explorer finds them.
enum PlantedBug: CaseIterable {
    /// What was read before the lease is redeemed under it.
    case noReadUnderTheLease
    /// The refresh token of an answer is stored whatever is there by then.
    case commitWithoutComparing
    /// Whether a lease is over is told by the wall clock.
    case takeoverByWallClock
    /// An answer is stored although the account was signed out, or in anew.
    case ignoresTheIncarnation
    /// The lease is given back although the answer could not be written.
    case noLeaseKept
    /// A sign-in whose write was done although it failed is written again whatever is there by then.
    case signsInAgain
    /// What a sign-in would write over is guessed from memory where it cannot be read.
    case guessesTheRecord
    /// An account counts as removed where another sign-in has taken the place of the one that was refreshed.
    case takesASignInForASignOut
    /// A refresh token that was refused is not remembered with the record.
    case forgetsTheRefusal
}

/// What may happen beside the steps of the protocol, and how often.
struct Budget: Hashable {
    var crashes = 0
    var clockJumps = 0
    /// A process stands still in the middle of its request for longer than its lease.
    var suspensions = 0
    var signOuts = 0
    var signIns = 0
    /// Somebody else changes the record: another client's token, a new name.
    var writesBeside = 0
    /// A write of an answer fails, is done all the same or not, and is tried again.
    var failedWrites = 0
    /// A sign-in's write fails and is done all the same; at any time it is tried again.
    var unsureSignIns = 0
    /// A sign-in while nothing can be read or written; at any time it is written.
    var blindSignIns = 0
    /// The provider refuses a refresh token, and would take it later.
    var refusals = 0
    /// How far time may go, in steps of ten seconds.
    var ticks = 4
}

extension Budget: CustomStringConvertible {
    /// What is not zero.
    var description: String {
        Mirror(reflecting: self).children.compactMap { child in
            child.value as? Int == 0 ? nil : "\(child.label ?? "") \(child.value)"
        }
        .joined(separator: ", ")
    }
}

/// Where a process is.
enum Step: Hashable {
    case start, readLease, settle, take, readAgain, send, arrive, remember, commit, write, keep, release, ended
}

/// One process, with what it has in its memory. Numbers stand for records and leases; see `Interner`.
struct ModelProcess: Hashable {
    var step = Step.start
    var isAlive = true
    /// Whether it may stand still while time goes on.
    var isSuspended = false
    var clockOffset: Int64 = 0
    var snapshot: Int?
    var leaseRead: Int?
    var seenLease: Int?
    var seenSince = 0
    var held: Int?
    var takes = 0
    var sentAt = 0
    /// What was redeemed, while an answer is to be written.
    var sent: Int?
    var granted: Int?
    var base: Int?
    /// Whether another sign-in took the place of what it refreshed.
    var isSuperseded = false

    /// Forgets what no later step looks at, so that states that differ in nothing else are one.
    mutating func end() {
        let (isAlive, takes, offset) = (isAlive, takes, clockOffset)
        self = ModelProcess()
        step = .ended
        self.isAlive = isAlive
        self.takes = takes
        clockOffset = offset
    }

    /// From the request until the answer is written, or the lease is looked at again, a process that runs loses no ten
    /// seconds.
    var isInAHurry: Bool {
        isAlive && !isSuspended && [.arrive, .remember, .commit, .write, .keep].contains(step)
    }
}

/// What the provider knows of one sign-in: refresh tokens have numbers, and only the last one is good.
struct ModelFamily: Hashable {
    var current = 0
    var isRevoked = false
    /// Somebody died with an answer: the old token comes again, and nobody is to blame.
    var lostAnAnswer = false
    var isSignedOut = false
    /// The refresh token that was refused, where that could be remembered.
    var refused: Int?
}

/// A sign-in that is to be written again.
struct ModelSignIn: Hashable {
    var family: Int
    /// Whose record was there.
    var overwrites: String?
    var tick: Int
    /// Whether nothing could be read.
    var isBlind = false
}

struct ModelState: Hashable {
    var record: Int?
    var unsaved: ModelSignIn?
    var lease: Int?
    var tick = 0
    var processes: [ModelProcess]
    var families = [ModelFamily()]
    var left: Budget
    var wasSuspended = false
}

/// Numbers for values, so that a state is small.
struct Interner<Value: Hashable> {
    private var numbers: [Value: Int] = [:]
    private var values: [Value] = []

    subscript(number: Int) -> Value { values[number] }

    mutating func number(of value: Value) -> Int {
        if let number = numbers[value] { return number }
        values.append(value)
        numbers[value] = values.count - 1
        return values.count - 1
    }
}
