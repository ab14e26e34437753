// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The number of times that something beside the steps of a refresh may happen.
struct Budget: Hashable {
    var crashes = 0
    var clockJumps = 0
    /// A process stands still in the middle of its request for longer than its lease.
    var suspensions = 0
    var signOuts = 0
    var signIns = 0
    /// Another program changes the record: another client's token, a new name.
    var writesBeside = 0
    /// A write of an answer fails, and is done all the same or not.
    var failedWrites = 0
    /// The store has no room for a while: nothing can be written to it but what was reserved before.
    var fullDisks = 0
    /// A program ends although its answer is not written.
    var ends = 0
    /// A sign-in's write fails and is done all the same; at any time it is tried again.
    var unsureSignIns = 0
    /// A sign-in while nothing can be read or written; at any time it is written.
    var blindSignIns = 0
    /// The provider refuses a refresh token, and would take it later.
    var refusals = 0
    /// The provider acts, and its answer does not come.
    var lostAnswers = 0
    /// A process stands still in its request, and its timer fires late: the answer is there, or was lost.
    var lateTimers = 0
    /// A request is not sent: the server asked to wait or cannot be found, or has refused it again and again.
    var unsentRequests = 0
    /// An answer is not believed.
    var faults = 0
    /// Something is fetched before an answer is believed.
    var fetches = 0
    /// A process begins another refresh while its lease is kept.
    var nextRefreshes = 0
    /// A lease cannot be written or removed, and is all the same, at once or later, or is not.
    var failedLeaseWrites = 0
    /// The store refuses all writes for a while, which ends before a lease does.
    var outages = 0
    /// 1: the provider never gives a new refresh token.
    var withoutRotation = 0
    /// 1: the provider takes every second use of a refresh token for theft.
    var withoutGrace = 0
    /// 1: number 1 asks for another scope than the others.
    var audiences = 0
    /// How far time may go, in steps of ten seconds.
    var ticks = 4
}

extension Budget: CustomStringConvertible {
    /// All members that are not zero.
    var description: String {
        Mirror(reflecting: self).children.compactMap { child in
            child.value as? Int == 0 ? nil : "\(child.label ?? "") \(child.value)"
        }
        .joined(separator: ", ")
    }
}

/// One process: its machine, and what its driver and its store have in memory. Numbers stand for values; see `Interner`.
struct ModelProcess: Hashable {
    var machine: RefreshMachine
    /// The actions that the machine wants done.
    var actions: [RefreshMachine.Action] = []
    var isAlive = true
    /// Whether it may stand still while time goes on.
    var isSuspended = false
    var clockOffset: Int64 = 0
    /// The record that was read last, and the one whose refresh token is sent.
    var read: Int?
    var leaseRead: Int?
    var held: Int?
    var takes = 0
    /// When the lease was last seen to outlast a request.
    var sentAt = 0
    /// How often the refresh token was sent, and the number of the last one that was refused.
    var requests = 0
    var refused: Int?
    /// Whether the answer to the refresh token was lost while the process stood still.
    var wasLate = false
    /// The leases whose renewal failed, and those that it may have although it holds none (`StrayLeases`).
    var noted: Set<Int> = []
    var strays: Set<Int> = []
    /// A lease that the store may still write, although it has reported a failure, and the lease that it replaces.
    var delayed: DelayedLease?
    /// The sign-in and the number of the refresh token that came.
    var family: Int?
    var granted: Int?
    /// The number of the writes that failed.
    var unsaved: Int?
    /// Whether the next write of the record has its room.
    var hasReservation = false
    var mistaken = MistakenMemory()

    /// Forgets what no later step looks at, so that states that differ in nothing else are one.
    mutating func tidy(_ lease: Int?) {
        for number in noted.union(strays) where number != lease && number != delayed?.number {
            noted.remove(number)
            strays.remove(number)
        }
        guard machine.hasEnded, actions.isEmpty else { return }
        (read, leaseRead, sentAt, requests, refused, granted, isSuspended) = (nil, nil, 0, 0, nil, nil, false)
        wasLate = false
        mistaken = MistakenMemory()
        if unsaved == nil { family = nil }
    }

    var isAtWork: Bool { isAlive && !actions.isEmpty }

    /// From the request until the answer is written, or the lease is looked at again, a process that runs loses no ten
    /// seconds.
    var isInAHurry: Bool {
        guard isAlive, !isSuspended else { return false }
        return switch actions.first {
        case .send, .validate, .commitRotation, .commit, .remember, .save, .waitForWrite: true
        case .renewLease: unsaved != nil
        default: false
        }
    }
}

struct DelayedLease: Hashable {
    var number: Int
    var expected: Int?
}

/// The provider's knowledge of one sign-in. Refresh tokens have numbers, and only the last number is valid.
struct ModelFamily: Hashable {
    var current = 0
    var isRevoked = false
    /// An answer did not come, or its process died: the old token comes again, and no process is to blame.
    var lostAnAnswer = false
    var isSignedOut = false
    /// The refresh token that was refused, if that could be remembered.
    var refused: Int?
}

/// A sign-in of another program that the program writes again.
struct ModelSignIn: Hashable {
    var family: Int
    var writes: Int
    /// Whether nothing could be read.
    var isBlind = false
}

struct ModelState: Hashable {
    var record: Int?
    var signIn: ModelSignIn?
    var lease: Int?
    var tick = 0
    /// By their numbers: only one of them changes with a step.
    var processes: [Int]
    var families = [ModelFamily()]
    var left: Budget
    var wasSuspended = false
    var isFull = false
    /// Whether the store refuses all writes now.
    var refusesWrites = false
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
