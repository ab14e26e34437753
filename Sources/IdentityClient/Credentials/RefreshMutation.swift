// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A mistake that can be planted in the decisions of a refresh, to see that the tests find it. Production plants none.
package enum RefreshMutation: CaseIterable, Hashable, Sendable {
    // In `PendingWrites`.

    /// The refresh token of an answer is stored whatever is there by then.
    case commitsWithoutComparing
    /// An answer is stored although the account was signed in anew.
    case ignoresTheSignIn
    /// A pending write is done although the account was signed out.
    case replaysAfterSignOut
    /// A sign-in whose write was done although it failed is written again whatever is there by then.
    case signsInAgain
    /// Whether there is a record that a sign-in would write over is guessed from memory.
    case guessesTheRecord

    // In `RefreshMachine`.

    /// The lease of a process that lives is taken over.
    case takesOverALivingHolder
    /// A holder in another pid namespace counts as dead where no process has its number.
    case believesForeignProcessIDs
    /// The refresh token that was read before the lease was taken is redeemed under it, without reading again.
    case doesNotReadUnderTheLease
    /// The lease is not renewed before a request that it would not outlast.
    case doesNotRenewTheLease
    /// A request is sent although another process took the lease over.
    case sendsUnderALostLease
    /// A refresh token that was refused is sent again by the same process.
    case sendsARefusedTokenAgain
    /// A refresh token is sent a third time after ambiguous answers.
    case sendsAgainWithoutEnd
    /// A refresh token that was refused is not remembered with the record.
    case forgetsTheRefusal
    /// The new refresh token of an answer that is not believed is dropped.
    case forgetsTheRotatedToken
    /// The lease is given back before the answer is written.
    case releasesBeforeTheWrite
    /// The lease is given back although the answer could not be written.
    case releasesAfterAFailedWrite
    /// The lease is never given back.
    case keepsTheLease
    /// An account counts as removed if another sign-in has taken the place of the one that was refreshed.
    case takesASignInForASignOut
}
