// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The order of the steps of one refresh in one process, from the first look at the lease to the last write.
///
/// The machine is a value without clock, input, output or randomness: it takes an event and returns the next actions.
/// Credentials and errors stay with ``RefreshDriver``. The machine holds only the facts that it decides by, so that a
/// test can explore every order of the steps of several processes.
///
/// The order is: take the lease, read again, find the provider, reserve the write, redeem, commit, release the lease. The refresh token
/// decides about the commit, not the lease. The lease is kept while a result of the refresh is not written.
package struct RefreshMachine: Hashable, Sendable {
    /// The action whose event comes next.
    private enum Phase: Hashable {
        case idle, ended
        case renewingKeptLease, readingLease, settling, takingLease, waiting, settlingAfterHint
        case reading, checking, findingProvider, fetchingKeys, reserving, renewing(before: Action), sending
        case validating, storingRotation, storingRotationOfFault(RefreshFault)
        case committing, revoking, settlingAfterRemoval
        case noting(RefreshFault), remembering(RefreshFault)
        case lookingForUnsaved, releasing, releasingTheAwaited
        case awaitingWrite, saving, renewingTheAwaited
    }

    private let rules: RefreshRules
    private var phase = Phase.idle
    private let hasKeptLease: Bool
    /// The nonce of another process's lease, and the time when this process first saw it.
    private var seenLease: String?
    private var seenSince: Int64 = 0
    /// The turn of another process that was seen last, and the time when this process first saw it.
    private var seenTurn: String?
    private var turnSince: Int64 = 0
    /// The milliseconds since the first look at the lease.
    private var elapsed: Int64 = 0
    private var isListening = false
    /// The record that holds the refresh token that is sent.
    private var base: RecordFacts?
    /// The refresh token that was refused, and the error.
    private var refusedToken: String?
    private var refusal: RefreshFault?
    private var isSuperseded = false
    private var requests = 0
    /// The new refresh token of an answer, and whether it is stored separately.
    private var rotatedToken: String?
    private var hasStoredRotation = false
    private var outcome: RefreshOutcome?
    /// The milliseconds until an unsaved write is tried again.
    private var pause: Int64 = 200

    package init(_ rules: RefreshRules, hasKeptLease: Bool = false) {
        self.rules = rules
        self.hasKeptLease = hasKeptLease
    }

    /// Whether nothing is left to do.
    package var hasEnded: Bool { phase == .ended }

    /// Returns the next actions, in order. The next event is the result of the last action.
    ///
    /// This is the table of all transitions: a phase and an event, and what follows them.
    package mutating func handle(_ event: Event) -> [Action] {
        switch (phase, event) {
        // The lease: wait until it is free, and take it.
        case (.idle, .begin):
            return hasKeptLease ? go(.renewingKeptLease, .renewLease) : go(.readingLease, .readLease)
        case (.renewingKeptLease, .leaseRenewed(false)): return go(.readingLease, .readLease)
        // A kept lease that cannot be renewed, for example on a full disk, remains valid until it expires.
        case (.renewingKeptLease, _): return read()
        case (.readingLease, .leaseRead(let sight)): return judge(sight)
        // Another process may have refreshed already.
        case (.settling, .recordRead(let record)):
            return record?.answers == true ? end(.found) : go(.takingLease, .takeLease)
        case (.settlingAfterHint, .recordRead(let record)):
            return record?.answers == true ? end(.found) : go(.readingLease, .readLease)
        case (.takingLease, .leaseTaken(true)): return read()
        case (.takingLease, .leaseTaken(false)): return wait()
        // The other process stores the new token before it releases the lease.
        case (.waiting, .hint) where !rules.skipsAccessToken: return go(.settlingAfterHint, .readRecord)
        case (.waiting, .hint), (.waiting, .timeUp): return go(.readingLease, .readLease)
        case (.readingLease, .failed(let fault)), (.settling, .failed(let fault)), (.takingLease, .failed(let fault)),
            (.waiting, .failed(let fault)), (.settlingAfterHint, .failed(let fault)):
            return end(.failed(fault))

        // The request: read the record again under the lease, and redeem its refresh token.
        case (.reading, .recordRead(let record)): return begin(record)
        case (.reading, .failed(let fault)): return release(.failed(refusal ?? fault))
        case (.checking, .done): return renew(before: .findProvider)
        // The pause was recorded when the error came.
        case (.checking, .failed(let fault)): return failed(fault)
        case (.findingProvider, .done): return renew(before: .fetchKeys)
        // If the server of the metadata accepts no requests for now, the token endpoint gets none either.
        case (.findingProvider, .failed(let fault)): return fault.isUnavailable ? note(fault) : failed(fault)
        // The refresh token is spent only if its successor can be stored.
        case (.fetchingKeys, .done): return go(.reserving, .reserve)
        case (.reserving, .done): return renew(before: .send)
        case (.reserving, .failed(let fault)): return release(.failed(fault))
        case (.renewing(let next), .leaseRenewed(true)): return proceed(to: next)
        case (.renewing, .leaseRenewed(false)): return release(.takenOver)
        case (.renewing, .failed(let fault)): return failed(fault)
        case (.sending, .answered(let rotated)):
            rotatedToken = rotated
            return go(.validating, .renewLeaseMeanwhile, .validate)
        case (.sending, .ambiguous(let fault, let allowsRetry)):
            return allowsRetry && requests == 1 ? renew(before: .send) : note(fault)
        case (.sending, .failed(let fault)): return note(fault)

        // The answer: store its new refresh token first if keys or endpoints are fetched before it is accepted.
        case (.validating, .willFetch):
            return rotatedToken == nil || hasStoredRotation ? [] : go(.storingRotation, .commitRotation)
        case (.storingRotation, _):
            hasStoredRotation = hasStoredRotation || event.isCommitted
            return go(.validating)
        case (.validating, .believed):
            return go(.committing, .forgetRefusals, .commit(base: commitBase))
        // The answer yields no access token and no claims, but the server has spent the refresh token that was sent.
        case (.validating, .failed(let fault)):
            guard rotatedToken != nil, !hasStoredRotation else { return note(fault) }
            return go(.storingRotationOfFault(fault), .commitRotation)
        case (.storingRotationOfFault(let fault), _):
            hasStoredRotation = event.isCommitted
            return note(fault)
        case (.committing, .committed(let record)): return committed(record)
        case (.committing, .failed(let fault)): return note(fault)
        // A person may have signed in again since. The token of that sign-in answers the caller.
        case (.revoking, .done):
            return rules.skipsAccessToken ? release(.removed) : go(.settlingAfterRemoval, .readRecord)
        case (.settlingAfterRemoval, .recordRead(let record)):
            return release(record?.answers == true ? .found : .removed)
        case (.settlingAfterRemoval, .failed(let fault)): return release(.failed(fault))
        case (.noting(let fault), .done):
            guard fault.refusesTheToken else { return failed(fault) }
            return go(.remembering(fault), .remember(fault))
        case (.remembering(let fault), .done): return failed(fault)

        // The end: release the lease, at once or when everything is written.
        //
        // If the new refresh token cannot be written, the refresh token in the cache is spent. Another process with the
        // lease would send it again, which looks like theft to the provider. So the write is repeated and the lease
        // renewed until the write succeeds. The next refresh in this process takes over the lease.
        case (.lookingForUnsaved, .unsaved(true)):
            let outcome = outcome ?? .removed
            self.outcome = nil
            return go(.awaitingWrite, .finish(outcome), .waitForWrite(milliseconds: pause))
        case (.lookingForUnsaved, .unsaved): return go(.releasing, .release)
        case (.releasing, .done): return end(outcome ?? .removed)
        case (.awaitingWrite, .written): return go(.releasingTheAwaited, .release)
        case (.awaitingWrite, .timeUp):
            pause = min(pause * 2, 5000)
            return go(.saving, .save)
        // The next refresh in this process takes over the lease.
        case (.awaitingWrite, _): return go(.ended)
        // A newer version of the library wrote the record, and decides which refresh token counts.
        case (.saving, .neverToBeWritten): return go(.releasingTheAwaited, .release)
        case (.saving, _): return go(.renewingTheAwaited, .renewLease)
        case (.renewingTheAwaited, .leaseRenewed(false)): return go(.ended)
        // A lease that cannot be renewed remains valid until it expires.
        case (.renewingTheAwaited, _): return go(.awaitingWrite, .waitForWrite(milliseconds: pause))
        case (.releasingTheAwaited, _): return go(.ended)

        case (.ended, _): return []
        default:
            assertionFailure("A refresh that is \(phase) got \(event).")
            return []
        }
    }
}

// The decisions that take more than a line.
extension RefreshMachine {
    /// Takes the lease if it is free. If it belonged to another process, the record is read first.
    private mutating func judge(_ sight: LeaseSight) -> [Action] {
        elapsed = sight.elapsed
        if let lease = sight.lease, seenLease != lease.nonce { (seenLease, seenSince) = (lease.nonce, elapsed) }
        // While the lease changes hands, the others make progress. A holder that renews it makes none.
        if let lease = sight.lease, seenTurn != lease.turn { (seenTurn, turnSince) = (lease.turn, elapsed) }
        guard sight.isFree(seenSince: seenSince) else { return wait() }
        guard seenLease != nil, !rules.skipsAccessToken else { return go(.takingLease, .takeLease) }
        return go(.settling, .readRecord)
    }

    private mutating func wait() -> [Action] {
        guard elapsed - turnSince < rules.leaseDuration * 3 else { return end(.waitedTooLong) }
        // Another look finds changes from before the process began to listen.
        if isListening { return go(.waiting, .wait) }
        isListening = true
        return go(.readingLease, .listen, .readLease)
    }

    /// Starts again under the lease, with the record that is stored now.
    private mutating func read() -> [Action] {
        (seenLease, seenSince, seenTurn, turnSince, elapsed, isListening) = (nil, 0, nil, 0, 0, false)
        (base, requests, rotatedToken, hasStoredRotation) = (nil, 0, nil, false)
        return go(.reading, .prepare, .readRecord)
    }

    private mutating func begin(_ record: RecordFacts?) -> [Action] {
        guard let record else { return release(.removed) }
        if record.answers { return release(.found) }
        guard let token = record.token else { return release(refusal.map { .failed($0) } ?? .withoutToken) }
        if let refusal, refusedToken == token { return release(.failed(refusal)) }
        if record.isNewer { return release(.newerVersion) }
        if let seconds = record.refusedFor, !rules.isForced { return release(.refused(seconds: seconds)) }
        base = record
        return go(.checking, .checkThrottling)
    }

    private mutating func renew(before next: Action) -> [Action] {
        go(.renewing(before: next), .renewLease)
    }

    private mutating func proceed(to next: Action) -> [Action] {
        switch next {
        case .findProvider: return go(.findingProvider, next)
        case .fetchKeys: return go(.fetchingKeys, next)
        default:
            requests = min(requests + 1, 2)
            return go(.sending, next)
        }
    }

    private var commitBase: Action.CommitBase { hasStoredRotation ? .rotated : .sent }

    /// Handles the record after a commit. A different refresh token that was stored in the meantime stays.
    private mutating func committed(_ record: RecordFacts?) -> [Action] {
        guard let record else { return go(.revoking, .revoke) }
        let token = rotatedToken ?? base?.token
        if record.signInID == base?.signInID || record.token == token { return release(.granted) }
        // Another sign-in replaced this one. Its tokens stay, and the request is tried with them. The tokens of the
        // answer are not revoked, because some providers would end the new sign-in as well.
        guard !isSuperseded else { return release(.notAccepted) }
        isSuperseded = true
        return read()
    }

    private mutating func note(_ fault: RefreshFault) -> [Action] {
        go(.noting(fault), .note(fault, of: commitBase))
    }

    /// Reads the record again after a refusal. If another process has stored a different refresh token, that token is
    /// tried once.
    private mutating func failed(_ fault: RefreshFault) -> [Action] {
        guard fault.needsPerson, refusal == nil else { return release(.failed(fault)) }
        (refusal, refusedToken) = (fault, base?.token)
        return read()
    }

    /// Ends under the lease.
    private mutating func release(_ outcome: RefreshOutcome) -> [Action] {
        (base, refusal, refusedToken, rotatedToken) = (nil, nil, nil, nil)
        (requests, isSuperseded, hasStoredRotation) = (0, false, false)
        self.outcome = outcome
        return go(.lookingForUnsaved, .lookForUnsaved)
    }

    /// Ends without a lease.
    private mutating func end(_ outcome: RefreshOutcome) -> [Action] {
        self = RefreshMachine(rules)
        phase = .ended
        return [.finish(outcome)]
    }

    private mutating func go(_ phase: Phase, _ actions: Action...) -> [Action] {
        self.phase = phase
        return actions
    }
}

/// The settings that stay the same during a refresh.
package struct RefreshRules: Hashable, Sendable {
    /// Whether an access token in the cache is not enough: the refresh is forced, or the request has claims.
    package var skipsAccessToken = false
    /// Whether a refused refresh token is sent again.
    package var isForced = false
    /// The duration of a lease, in milliseconds.
    package var leaseDuration: Int64

    package init(leaseDuration: Int64) {
        self.leaseDuration = leaseDuration
    }
}

/// The facts about a record that the machine decides by.
package struct RecordFacts: Hashable, Sendable {
    package var signInID: String
    /// A digest of the refresh token.
    package var token: String?
    /// Whether the record has an access token that answers the request.
    package var answers = false
    /// The seconds for which a refused refresh token is not sent again.
    package var refusedFor: Int64?
    /// Whether a newer version of the library wrote the record.
    package var isNewer = false

    package init(signInID: String, token: String?) {
        self.signInID = signInID
        self.token = token
    }
}

/// The facts about an error that the machine decides by.
package struct RefreshFault: Hashable, Sendable {
    /// The number of the error, which the driver keeps.
    package var number = 0
    package var needsPerson = false
    /// Whether the server accepts no requests for now.
    package var isUnavailable = false
    /// Whether the error is about the refresh token itself.
    package var refusesTheToken = false

    package init() {}
}

/// The outcome of a refresh.
package enum RefreshOutcome: Hashable, Sendable {
    /// The record that was read last has a token.
    case found
    /// The provider gave a token.
    case granted
    case failed(RefreshFault)
    case removed, withoutToken, newerVersion
    case refused(seconds: Int64)
    /// Other processes held the lease for too long; another process took it over; the cache accepts no change.
    case waitedTooLong, takenOver, notAccepted
}

extension RefreshMachine {
    package enum Event: Hashable, Sendable {
        case begin
        case leaseRead(LeaseSight)
        case leaseTaken(Bool)
        /// Whether the lease now outlasts one more request; `false` if another process has taken it over.
        case leaseRenewed(Bool)
        case recordRead(RecordFacts?)
        /// The cache reported a change.
        case hint
        case timeUp
        case done
        case failed(RefreshFault)
        /// Tokens arrived. The digest is that of a refresh token that is new and does not belong to another person.
        case answered(rotated: String?)
        /// It is unknown whether the server acted on the request. `allowsRetry`: whether it may be sent once more.
        case ambiguous(RefreshFault, allowsRetry: Bool)
        /// Keys or endpoints are fetched before the answer is accepted.
        case willFetch
        case believed
        /// The record after a commit, in the cache or in memory; `nil` if the account was removed.
        case committed(RecordFacts?)
        /// Whether a write of the account has not reached the cache.
        case unsaved(Bool)
        /// Every write has reached the cache.
        case written
        case neverToBeWritten
        /// The next refresh in this process takes the lease over.
        case takenByTheNext

        var isCommitted: Bool {
            if case .committed = self { true } else { false }
        }
    }

    package enum Action: Hashable, Sendable {
        /// The refresh token that a commit replaces: the one that was sent, or the new one if it is stored already.
        package enum CommitBase: Hashable, Sendable { case sent, rotated }

        case readLease, takeLease, renewLease, release
        /// Renews the lease while the answer is checked. No event follows.
        case renewLeaseMeanwhile
        /// Begins to listen to the cache. No event follows.
        case listen
        /// Waits until the cache reports a change or some time has passed.
        case wait
        /// Loads the transport while the record is read. No event follows.
        case prepare
        case readRecord
        case checkThrottling, findProvider, fetchKeys, send, validate
        /// Reserves the write of the answer. The part that no write used is given back with the lease.
        case reserve
        /// Resets the count of consecutive refusals. No event follows.
        case forgetRefusals
        case commitRotation
        case commit(base: CommitBase)
        case revoke
        case note(RefreshFault, of: CommitBase)
        case remember(RefreshFault)
        case lookForUnsaved
        /// Answers the caller. No event follows.
        case finish(RefreshOutcome)
        case waitForWrite(milliseconds: Int64)
        case save
    }
}
