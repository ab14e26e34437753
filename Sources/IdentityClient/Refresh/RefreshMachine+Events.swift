// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What does not change during a refresh.
package struct RefreshRules: Hashable, Sendable {
    /// Whether an access token in the cache does not do: the refresh is forced, or claims are asked for.
    package var skipsAccessToken = false
    /// Whether a refresh token that was refused is sent all the same.
    package var isForced = false
    /// Whether a refresh token is sent once more if the answer leaves open whether the server acted.
    package var retries = true
    /// Milliseconds.
    package var leaseDuration: Int64
    package var mutations: Set<RefreshMutation> = []

    package init(leaseDuration: Int64) {
        self.leaseDuration = leaseDuration
    }
}

/// A record, as far as the machine decides by it.
package struct RecordFacts: Hashable, Sendable {
    package var signInID: String
    /// A digest of the refresh token.
    package var token: String?
    /// Whether it has an access token that answers the request.
    package var answers = false
    /// The seconds for which the refresh token is not sent, because it was refused.
    package var refusedFor: Int64?
    /// Whether a newer version of the library wrote it.
    package var isNewer = false

    package init(signInID: String, token: String?) {
        self.signInID = signInID
        self.token = token
    }
}

/// An error, as far as the machine decides by it.
package struct RefreshFault: Hashable, Sendable {
    /// Names the error, which the driver keeps.
    package var number = 0
    package var needsPerson = false
    /// Whether the server wants no requests now.
    package var isUnavailable = false
    /// Whether it is about the refresh token itself.
    package var refusesTheToken = false

    package init() {}
}

/// What a refresh comes to.
package enum RefreshOutcome: Hashable, Sendable {
    /// The record that was read last has a token.
    case found
    /// The provider gave a token.
    case granted
    case failed(RefreshFault)
    case removed, withoutToken, newerVersion
    case refused(seconds: Int64)
    /// Others held the lease for too long; one took it over; the cache accepts no change.
    case waitedTooLong, takenOver, notAccepted
}

extension RefreshMachine {
    package enum Event: Hashable, Sendable {
        case begin
        case leaseRead(LeaseSight)
        case leaseTaken(Bool)
        /// Whether the lease outlasts one more request; `false` if another process has taken it over.
        case leaseRenewed(Bool)
        case recordRead(RecordFacts?)
        /// The cache told of a change.
        case hint
        case timeUp
        case done
        case failed(RefreshFault)
        /// Tokens came. The digest is of a refresh token that is new, and not another person's.
        case answered(rotated: String?)
        /// The answer leaves open whether the server acted.
        case ambiguous(RefreshFault)
        /// Something is to be fetched before the answer is believed.
        case willFetch
        case believed
        /// The record after a commit, in the cache or in memory; `nil` if the account is gone.
        case committed(RecordFacts?)
        /// Whether something of the account is not in the cache.
        case unsaved(Bool)
        /// Nothing is unsaved any more.
        case written
        case neverToBeWritten
        /// The next refresh in this process takes the lease over.
        case takenByTheNext

        var isCommitted: Bool {
            if case .committed = self { true } else { false }
        }
    }

    package enum Action: Hashable, Sendable {
        /// The refresh token that a commit replaces: the one that was sent, or the new one where it is stored already.
        package enum CommitBase: Hashable, Sendable { case sent, rotated }

        case readLease, takeLease, renewLease, release
        /// Renews the lease while the answer is looked at. It comes to no event.
        case renewLeaseMeanwhile
        /// Begins to listen to the cache. It comes to no event.
        case listen
        /// Waits for a hint of the cache, or a while.
        case wait
        /// Loads the transport while the record is read. It comes to no event.
        case prepare
        case readRecord
        case checkThrottling, findProvider, fetchKeys, send, validate
        /// Forgets the refusals in a row. It comes to no event.
        case forgetRefusals
        case commitRotation
        case commit(base: CommitBase)
        case revoke
        case note(RefreshFault, of: CommitBase)
        case remember(RefreshFault)
        case lookForUnsaved
        /// Answers the caller. It comes to no event.
        case finish(RefreshOutcome)
        case waitForWrite(milliseconds: Int64)
        case save
    }
}
