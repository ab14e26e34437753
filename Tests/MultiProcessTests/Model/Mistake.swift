// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A mistake that the library could make in a refresh. The world makes it for the library: it changes the events that a
/// machine gets, does not do the actions that a machine wants, or writes something else.
enum Mistake: CaseIterable {
    // In the writes.

    /// The record with the answer in it replaces whatever is stored.
    case commitsWithoutComparing
    /// An answer is stored although the person has signed in again since.
    case ignoresTheSignIn
    /// A pending sign-in is written although the account was signed out.
    case replaysAfterSignOut
    /// A sign-in whose write reported a failure but succeeded is written again over a later refresh.
    case signsInAgain
    /// A sign-in that could not read the record assumes the record that is in memory.
    case guessesTheRecord

    // In the steps.

    /// The lease of a living process is taken over.
    case takesOverALivingHolder
    /// A holder in another process namespace counts as dead if no process here has its number.
    case believesForeignProcessIDs
    /// The refresh token that was read before the lease was taken is redeemed without reading again.
    case doesNotReadUnderTheLease
    /// A request is sent under a lease that may expire before the answer.
    case doesNotRenewTheLease
    /// A request is sent although nothing is known of whether its answer can be stored.
    case sendsWithoutAReservation
    /// A request is sent although another process took over the lease.
    case sendsUnderALostLease
    /// A process sends a refused refresh token again.
    case sendsARefusedTokenAgain
    /// A refresh token is sent a third time after ambiguous answers.
    case sendsAgainWithoutEnd
    /// A request whose timer fires late gives up although its answer is there.
    case throwsTheAnswerAway
    /// A refresh token is sent again although the process stood still in its request.
    case sendsAgainAfterALateTimer
    /// A refusal is not stored with the refused refresh token.
    case forgetsTheRefusal
    /// The new refresh token of an answer that is not accepted is dropped.
    case forgetsTheRotatedToken
    /// The lease is released before the answer is written.
    case releasesBeforeTheWrite
    /// The lease is released although the answer could not be written.
    case releasesAfterAFailedWrite
    /// The lease is never released.
    case keepsTheLease
    /// A lease that may be written although the store failed is not remembered.
    case forgetsTheTake
    /// A release that fails is not tried again.
    case triesTheReleaseOnce
    /// An account counts as removed if another sign-in has replaced the refreshed one.
    case takesASignInForASignOut
}

/// The memory of a mistaken process.
struct MistakenMemory: Hashable {
    /// The record that was read without the lease.
    var readBefore: Int?
    /// The machine when it first sent the refresh token.
    var firstSent: RefreshMachine?
    /// Whether the machine does not know that the lease is being released.
    var isReleasing = false
}

extension Explorer {
    /// Gives an event to the machine of a process, which wants the actions that it returns.
    func tell(_ me: inout ModelProcess, _ event: RefreshMachine.Event) -> [RefreshMachine.Action] {
        guard let mistake else { return me.machine.handle(event) }
        var told = event
        switch (mistake, event) {
        case (.takesOverALivingHolder, .leaseRead(var sight)) where sight.lease != nil:
            sight.isLocked = false
            told = .leaseRead(sight)
        case (.believesForeignProcessIDs, .leaseRead(var sight)) where sight.holderIsDead:
            sight.isLocked = false
            told = .leaseRead(sight)
        case (.sendsUnderALostLease, .leaseRenewed(false)): told = .leaseRenewed(true)
        case (.sendsARefusedTokenAgain, .recordRead(var facts?)) where me.refused != nil:
            facts.token? += " again"
            told = .recordRead(facts)
        case (.sendsAgainAfterALateTimer, .ambiguous(let fault, _)): told = .ambiguous(fault, allowsRetry: true)
        case (.sendsAgainWithoutEnd, .ambiguous):
            if let firstSent = me.mistaken.firstSent { me.machine = firstSent }
            me.mistaken.firstSent = me.machine
        case (.releasesBeforeTheWrite, .believed):
            me.mistaken.isReleasing = true
            return [.release] + me.machine.handle(event)
        case (.releasesBeforeTheWrite, .done) where me.mistaken.isReleasing:
            me.mistaken.isReleasing = false
            return []
        case (.releasesAfterAFailedWrite, .unsaved(true)): told = .unsaved(false)
        case (.takesASignInForASignOut, .committed(let facts?))
        where me.read.map({ records[$0].signInID }) != facts.signInID:
            told = .committed(nil)
        default: break
        }
        return me.machine.handle(told)
    }

    /// Returns the event that follows an action which a mistaken process does not do, or `nil` if it does the action.
    func omitted(_ action: RefreshMachine.Action, _ me: ModelProcess) -> RefreshMachine.Event? {
        switch (mistake, action) {
        case (.doesNotRenewTheLease, .renewLease) where me.unsaved == nil: .leaseRenewed(true)
        case (.sendsWithoutAReservation, .reserve), (.forgetsTheRefusal, .remember),
            (.forgetsTheRotatedToken, .commitRotation), (.keepsTheLease, .release):
            .done
        default: nil
        }
    }

    /// Returns the record that a process reads, which has `current` in its store or memory.
    func read(_ current: Int?, _ me: inout ModelProcess) -> Int? {
        guard mistake == .doesNotReadUnderTheLease else { return current }
        if me.held == nil { me.mistaken.readBefore = current }
        return me.held == nil ? current : me.mistaken.readBefore ?? current
    }

    /// Returns the record with the writes in it; `nil` if there is none then.
    func replayed(_ pending: PendingWrites, onto current: AccountCredentials?) throws -> AccountCredentials? {
        switch mistake {
        case .replaysAfterSignOut where pending.hasSignIn && current == nil:
            pending.applied(to: try Self.credentials(family: 0, refreshToken: nil))
        case .signsInAgain where pending.hasSignIn: current.map { pending.applied(to: $0) }
        default: pending.replay(onto: current).credentials(over: current)
        }
    }

    /// Returns the record after the commit of an answer to the refresh of `base`.
    func committed(_ pending: PendingWrites, _ base: AccountCredentials?, over current: AccountCredentials?) throws
        -> AccountCredentials?
    {
        guard let base, var found = current else { return try replayed(pending, onto: current) }
        switch mistake {
        case .commitsWithoutComparing: return pending.applied(to: base)
        case .ignoresTheSignIn:
            found.signInID = base.signInID
            var result = try replayed(pending, onto: found)
            result?.signInID = current?.signInID ?? base.signInID
            return result
        default: return try replayed(pending, onto: current)
        }
    }
}
