// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Testing

/// Every order of the steps of three processes: at most one request per refresh token, none lost, no account back.
@Suite(.timeLimit(.minutes(20)))
struct ExplorerTests {
    static let budgets = [
        Budget(crashes: 2, ticks: 0),
        Budget(crashes: 1, ticks: 1),
        Budget(clockJumps: 1, ticks: 0),
        Budget(signOuts: 1, signIns: 1, ticks: 0),
        Budget(unsureSignIns: 1, ticks: 0),
        Budget(signIns: 1, unsureSignIns: 1, ticks: 0),
        Budget(signOuts: 1, blindSignIns: 1, ticks: 0),
        Budget(signOuts: 1, unsureSignIns: 1, ticks: 0),
        Budget(crashes: 1, refusals: 2, ticks: 1),
        Budget(crashes: 1, lostAnswers: 2, ticks: 0),
        Budget(lostAnswers: 1, lateTimers: 2, withoutGrace: 1, ticks: 1),
        Budget(signIns: 1, faults: 1, fetches: 1, ticks: 0),
        Budget(crashes: 1, signIns: 1, unsentRequests: 2, ticks: 0),
        Budget(fullDisks: 1, ends: 1, ticks: 0),
        Budget(crashes: 1, fullDisks: 2, ticks: 0),
        Budget(fullDisks: 1, ends: 1, faults: 1, fetches: 1, ticks: 0),
        Budget(failedLeaseWrites: 2, ticks: 1),
        Budget(crashes: 1, failedLeaseWrites: 1, outages: 1, ticks: 0),
        Budget(crashes: 1, lostAnswers: 1, faults: 1, withoutGrace: 1, ticks: 0),
        Budget(crashes: 1, failedWrites: 1, lostAnswers: 1, withoutRotation: 1, ticks: 0),
        Budget(crashes: 1, signIns: 1, audiences: 1, ticks: 0),
        Budget(audiences: 1, ticks: 1),
        Budget(outages: 1, ticks: 0),
        Budget(failedWrites: 2, ticks: 1),
        Budget(failedWrites: 1, faults: 1, fetches: 1, nextRefreshes: 1, ticks: 0),
    ]

    /// Budgets that take two minutes together.
    static let deepBudgets = [
        Budget(failedWrites: 2, ticks: 2),
        Budget(failedWrites: 1, faults: 1, fetches: 1, nextRefreshes: 1, ticks: 1),
        Budget(failedLeaseWrites: 1, ticks: 3),
        Budget(crashes: 1, failedWrites: 1, lostAnswers: 1, withoutRotation: 1, ticks: 1),
        Budget(audiences: 1, ticks: 2),
        Budget(suspensions: 1, ticks: 3),
        Budget(ticks: 4),
        Budget(clockJumps: 1, ticks: 1),
        Budget(crashes: 1, signOuts: 1, signIns: 1, writesBeside: 1, ticks: 0),
        Budget(signOuts: 1, signIns: 1, failedWrites: 1, ticks: 1),
        Budget(signOuts: 1, failedWrites: 1, unsureSignIns: 1, ticks: 1),
        Budget(crashes: 2, ticks: 3),
        Budget(crashes: 1, clockJumps: 1, ticks: 2),
        Budget(crashes: 1, signOuts: 1, signIns: 1, writesBeside: 1, ticks: 1),
    ]

    @Test(arguments: Repetitions.isSoak ? budgets + deepBudgets : budgets)
    func holdsInEveryOrder(_ budget: Budget) throws {
        var explorer = Explorer()
        try explorer.explore(budget)
        print("MODEL \(budget): \(explorer.stateCount) states")
        fflush(nil)
        #expect(explorer.violations.isEmpty, "\(explorer.violations)")
        #expect(explorer.stateCount > 1000, "An explorer that goes nowhere finds nothing.")
    }

    /// Each mistake in a small world that shows it.
    @Test(arguments: Mistake.allCases)
    func findsTheMistake(_ mistake: Mistake) throws {
        var explorer = Explorer(mistake)
        try explorer.explore(Self.world(of: mistake))
        print("MODEL \(mistake): \(explorer.violations)")
        #expect(!explorer.violations.isEmpty)
    }

    private static func world(of mistake: Mistake) -> Budget {
        switch mistake {
        case .commitsWithoutComparing, .ignoresTheSignIn, .takesASignInForASignOut:
            Budget(signOuts: 1, signIns: 1, ticks: 0)
        case .replaysAfterSignOut: Budget(signOuts: 1, unsureSignIns: 1, ticks: 0)
        case .signsInAgain: Budget(unsureSignIns: 1, ticks: 0)
        case .guessesTheRecord: Budget(signOuts: 1, blindSignIns: 1, ticks: 0)
        case .takesOverALivingHolder, .believesForeignProcessIDs, .keepsTheLease: Budget(crashes: 1, ticks: 0)
        case .doesNotReadUnderTheLease: Budget(clockJumps: 1, ticks: 0)
        case .doesNotRenewTheLease, .sendsUnderALostLease: Budget(ticks: 3)
        case .sendsWithoutAReservation: Budget(fullDisks: 1, ends: 1, ticks: 0)
        case .sendsARefusedTokenAgain, .forgetsTheRefusal: Budget(crashes: 1, refusals: 2, ticks: 1)
        case .sendsAgainWithoutEnd: Budget(crashes: 1, lostAnswers: 2, ticks: 0)
        case .throwsTheAnswerAway, .sendsAgainAfterALateTimer: Budget(lateTimers: 1, ticks: 0)
        case .forgetsTheTake: Budget(failedLeaseWrites: 1, ticks: 0)
        case .triesTheReleaseOnce: Budget(outages: 1, ticks: 0)
        case .forgetsTheRotatedToken: Budget(signIns: 1, faults: 1, fetches: 1, ticks: 0)
        case .releasesBeforeTheWrite, .releasesAfterAFailedWrite: Budget(failedWrites: 1, ticks: 1)
        }
    }
}
