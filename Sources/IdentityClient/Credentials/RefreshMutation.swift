// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A mistake that a test plants in the decisions of a refresh, to show that the state explorer finds it. Production
/// plants none.
package enum RefreshMutation: CaseIterable, Hashable, Sendable {
    // In `PendingWrites`.

    /// An answer replaces the stored refresh token, even if that is not the token that was sent.
    case commitsWithoutComparing
    /// An answer is stored although the person has signed in again since.
    case ignoresTheSignIn
    /// A pending write is done although the account was signed out.
    case replaysAfterSignOut
    /// A sign-in whose write reported a failure but succeeded is written again over a later refresh.
    case signsInAgain
    /// A sign-in that could not read the record assumes the record that is in memory.
    case guessesTheRecord

    // In `RefreshMachine`.

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
    /// An account counts as removed if another sign-in has replaced the refreshed one.
    case takesASignInForASignOut
}
